"""From points to probabilities: the PU risk, the prior filter, the three phases."""
