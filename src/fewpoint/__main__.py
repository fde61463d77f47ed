"""`python -m fewpoint` is the same as the command `fewpoint`."""

from fewpoint.cli.main import main

if __name__ == "__main__":
    main()
