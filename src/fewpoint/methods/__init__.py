"""Every method by name, with its own settings; free of torch."""
