"""`python -m fewpoint`: the command line."""

from fewpoint.cli.main import main

if __name__ == "__main__":
    main()
