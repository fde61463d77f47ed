"""The method from end to end: settings, stages, run."""
