"""What tests of the command line share: a call, what came of it, and a small phantom to call it on."""

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fewpoint.evaluation.phantom import make_phantom
from synthetic import TINY, save_phantom, save_settings

COMMAND = (sys.executable, "-m", "fewpoint")


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code and what it printed."""

    code: int
    out: str
    err: str


def launch(*arguments: object, **options: object) -> Outcome:
    """Run a command as a user does, in a process of its own."""
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(command, text=True, capture_output=True, timeout=600, check=False, **options)
    return Outcome(done.returncode, done.stdout, done.stderr)


def start(*arguments: object) -> subprocess.Popen:
    """A command that is not waited for; Ctrl-C reaches it also where the tests run in a shell's background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # it would be handed down
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@dataclass(frozen=True)
class Case:
    """A small phantom on disk and the arguments that segment it in a second."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Case":
        save_phantom(make_phantom(n_frames=6, size=(48, 40)), folder)
        save_settings(TINY, folder / "tiny.toml")
        return cls(folder)

    @property
    def frames(self) -> Path:
        return self.folder / "frames"

    @property
    def points(self) -> Path:
        return self.folder / "points.csv"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def segment(self, *extra: object, frames: Path | None = None, points: Path | None = None) -> list[str]:
        """The whole call; an option given again in `extra` wins, but --points, which may be repeated."""
        options = {
            "--points": points or self.points,
            "--out": self.out,
            "--preset": "paper",
            "--device": "cpu",
            "--config": self.folder / "tiny.toml",
        }
        pairs = [str(part) for pair in options.items() for part in pair]
        return ["segment", str(frames or self.frames), *pairs, *map(str, extra)]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
