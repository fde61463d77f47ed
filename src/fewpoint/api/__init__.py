"""The package as a library: what the command line does, for programs and notebooks."""
