"""What a method must beat: one file per competitor, each a core.Segmenter that never sees the truth."""
