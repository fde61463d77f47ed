"""Run the drivers of two trees: of this one with the present interpreter, of BASE's in an environment of its own."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from shadow.recorder import INDEX, describe_machine

TREE = Path(__file__).resolve().parents[2]
BUILD = TREE / "build" / "shadow"
SHOWN = 40  # last lines of what a driver said that failed
TORCH_INDEX = "https://download.pytorch.org/whl"
EXTRAS = ("annotate", "competitors", "dicom", "tracking", "video", "zarr")  # what cases need, of those that BASE has


class ShadowError(Exception):
    """Nothing can be compared; one line says why."""


@dataclass(frozen=True)
class Side:
    """A tree and the interpreter that runs it."""

    tree: Path
    python: Path

    def list_cases(self) -> list[str]:
        """The names of its cases, those that take longest first."""
        return _run([*self._driver, "--list"], TREE).split()

    def record(self, cases: list[str], out: Path, *options: str) -> None:
        """Have cases recorded, in two processes at once."""
        out.mkdir(parents=True, exist_ok=True)
        for name in cases:
            shutil.rmtree(out / name, ignore_errors=True)  # what an earlier call left is no answer to this one
        shares = [share for share in (cases[0::2], cases[1::2]) if share]
        commands = [[*self._driver, *options, *share, str(out)] for share in shares]
        logs = [out / f"log-{number}.txt" for number in range(len(shares))]
        started = [_start(command, out, log) for command, log in zip(commands, logs, strict=True)]
        failed = [log for process, log in zip(started, logs, strict=True) if process.wait()]
        if failed:
            for log in failed:
                print(
                    *log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN:], sep="\n", file=sys.stderr
                )
            raise ShadowError(f"cases of {self.tree} failed, see above")

    @property
    def _driver(self) -> list[str]:
        return [str(self.python), "-P", str(self.tree / "tests" / "shadow" / "drive.py")]


HERE = Side(TREE, Path(sys.executable))


def find_packages(out: Path, cases: list[str]) -> set[str]:
    """The folders of the packages that recorded these cases."""
    return {str(read_index(out / case)["package"]) for case in cases}


def read_index(case: Path) -> dict:
    return json.loads((case / INDEX).read_text(encoding="utf-8"))


def has_history(tree: Path) -> bool:
    return (tree / ".git").exists()  # a folder, or a file in a worktree


def find_commit(tree: Path, name: str) -> str:
    """The commit that BASE names; fetched if the checkout is a shallow one."""
    for _ in range(2):
        found = _git(tree, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if found.returncode == 0:
            return found.stdout.decode().strip()
        _git(tree, "fetch", "--quiet", "--depth", "1", "origin", name)
    raise ShadowError(f"commit {name} of tests/shadow/BASE is not in this checkout and its origin does not give it")


def find_cache(commit: str) -> Path:
    """Where what BASE leaves is kept: for each commit, processor, Python and versions of libraries."""
    machine = describe_machine()
    digest = sha256(json.dumps(machine, sort_keys=True).encode()).hexdigest()
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "fewpoint" / "shadow" / f"{commit[:12]}-{digest[:12]}"


def record_base(commit: str, names: list[str]) -> tuple[Path, list[str]]:
    """Where BASE's stages of these cases, or of all, are kept, and the cases; only those missing are run."""
    kept = find_cache(commit)
    listed = kept / "cases.txt"
    if not listed.exists():
        found = make_base(commit).list_cases()
        kept.mkdir(parents=True, exist_ok=True)
        partial = kept / f".cases-{os.getpid()}"
        partial.write_text("\n".join(found))
        partial.replace(listed)
    known = listed.read_text().split()
    cases = [name for name in known if not names or name in names]
    missing = [name for name in cases if not (kept / name / INDEX).exists()]
    if missing:
        make_base(commit).record(missing, kept)
    for name in cases:
        check_libraries(read_index(kept / name)["libraries"], describe_machine()["libraries"])
    return kept, cases


def check_libraries(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """ShadowError if a library that both sides have is of two versions."""
    for name in sorted(theirs.keys() & ours.keys()):
        if theirs[name] != ours[name]:
            raise ShadowError(f"{name} must be of one version, BASE ran with {theirs[name]} and this tree {ours[name]}")


def make_base(commit: str, build: Path = BUILD) -> Side:
    """The tree of a commit and an environment for it, both made once for the libraries that are here."""
    folder = build / commit[:12]
    tree, env, done = folder / "tree", folder / "env", folder / "installed"
    side = Side(tree, env / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    here = json.dumps(describe_machine(), indent=1)
    if done.exists() and done.read_text(encoding="utf-8") == here:
        return side
    print(f"BASE: an environment for {commit[:12]} in {folder}, once", flush=True)
    with tarfile.open(fileobj=io.BytesIO(_git(TREE, "archive", commit).stdout)) as archive:
        archive.extractall(tree, filter="data")
    told = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    extras = ",".join(name for name in EXTRAS if name in told["project"]["optional-dependencies"])
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(choose_versions(tree / "constraints.txt")), encoding="utf-8")
    _run([sys.executable, "-m", "venv", "--clear", str(env)], folder)
    pip = [str(side.python), "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", str(constraints)]
    install_torch(pip, folder, metadata.version("torch"))
    _run([*pip, f"{tree}[{extras}]"], folder)
    done.write_text(here, encoding="utf-8")
    return side


def install_torch(pip: list[str], folder: Path, version: str) -> None:
    """Install the torch that is here: its very build where pip or its own index has it, else any of its version."""
    public, _, build = version.partition("+")
    own = ["--no-deps", "--retries", "0", "--timeout", "10", "--index-url", f"{TORCH_INDEX}/{build}"]
    for attempt in ([f"torch=={version}"], [*own, f"torch=={version}"]) if build else ():
        if _try([*pip, *attempt], folder).returncode == 0:
            return
    _run([*pip, f"torch=={public}"], folder)


def choose_versions(own: Path) -> list[str]:
    """Lines for pip: what is installed here in the version that is here, all else as BASE's own constraints say."""
    here = {_plain(each.name): each.version.partition("+")[0] for each in metadata.distributions() if each.name}
    here.pop("fewpoint", None)
    lines = own.read_text(encoding="utf-8").splitlines() if own.exists() else []
    given = [line for line in lines if "==" in line and _plain(line.partition("==")[0]) not in here]
    return [*given, *(f"{name}=={version}" for name, version in sorted(here.items()))]


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(".", "-")


def _git(tree: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, check=False)


def _start(command: list[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as stream:
        return subprocess.Popen(command, cwd=folder, env=_environment(), stdout=stream, stderr=subprocess.STDOUT)


def _run(command: list[str], folder: Path) -> str:
    """What a command prints; ShadowError with what it complained of if it fails."""
    done = _try(command, folder)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        raise ShadowError(f"this failed, see above: {' '.join(command)}")
    return done.stdout


def _try(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)


def _environment() -> dict[str, str]:
    """The present variables, less those that would bring in modules or settings of another tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "FEWPOINT_"))}
