"""Networks and what surrounds them; nothing here knows how they learn."""
