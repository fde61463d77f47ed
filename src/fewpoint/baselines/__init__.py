"""What a method must beat: one file a competitor, each a core.Segmenter that never sees the truth."""
