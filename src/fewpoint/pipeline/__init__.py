"""From frames and points to masks: what the default method and the paper's method share."""
