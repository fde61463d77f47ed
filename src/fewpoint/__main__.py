"""`python -m fewpoint` is the same as the command `fewpoint`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the present folder, which may hold data with a random.py among it
    from fewpoint.cli.main import main

    main()
