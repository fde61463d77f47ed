"""Start sweep.py with the shim that fails writes: python tests/faults/faults.py --help"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from shim import COMPILER, make_shim

HERE = Path(__file__).parent


def main() -> None:
    if COMPILER is None or sys.platform != "linux":
        sys.exit("faults: needs Linux and a C compiler; install gcc")
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(HERE), str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, str(HERE / "sweep.py"), *sys.argv[1:]]
        sys.exit(subprocess.run(command, env={**environment, **make_shim(Path(folder))}, check=False).returncode)


if __name__ == "__main__":
    main()
