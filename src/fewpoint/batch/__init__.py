"""Many sequences, from a manifest to a folder of runs."""
