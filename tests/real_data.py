"""Where the real sequences for development are, if they are there."""

import os
from pathlib import Path


def data_root() -> Path | None:
    """FEWPOINT_DATA, else shared/data beside the repository; None where there is no such folder."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    root = Path(os.environ.get("FEWPOINT_DATA") or default)
    return root if root.is_dir() else None
