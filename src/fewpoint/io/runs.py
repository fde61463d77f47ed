"""The run folder: its identity, one artefact per stage, the result.

manifest.json        the run's identity, its state, whatever the run adds
stages/              one artefact per stage, so that a killed run goes on where it stopped
masks/<name>.png     the masks, or in another format, such as masks.nii.gz
probabilities.npz    probabilities and masks as arrays; priors.csv and history.csv
model.npz            the last networks, for other runs to start from
points.json          the points that it was given; words.json, if there were any: outlines, boxes and sizes by object
source.json          where the input is and how it lies, for writing other formats later
.lock                held while a process works here; the system lets go of it when the process dies
"""

import shutil
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from fewpoint.core.bound import AreaBound
from fewpoint.core.history import PriorHistory
from fewpoint.core.job import PlainPoints
from fewpoint.core.labels import ObjectLabel
from fewpoint.core.paging import stack_arrays
from fewpoint.core.points import PointSet
from fewpoint.core.probabilities import ProbabilityMaps
from fewpoint.core.result import UNNAMED, ObjectResult, Result
from fewpoint.core.saying import SaidWords
from fewpoint.core.source import Source
from fewpoint.core.words import Words
from fewpoint.errors import DeviceError, InputError, OutputError, RunConflictError, SettingsError
from fewpoint.io.atomic import PARTIAL_SUFFIX, explaining_write_errors, read_json, remove, write_arrays, write_json
from fewpoint.io.decoding import load_array, naming
from fewpoint.io.formats import Outputs
from fewpoint.io.images import hash_sequence
from fewpoint.io.masks import RESULT_FILE
from fewpoint.io.schema import NUMBER, Each, OneOf, check_table, check_version, expecting_ours
from fewpoint.io.sources import read_source, write_source
from fewpoint.io.tables import read_priors, write_history, write_priors

if TYPE_CHECKING:
    from filelock import BaseFileLock

MANIFEST_FILE = "manifest.json"
MANIFEST_FORMAT = "fewpoint run"
LOCK_FILE = ".lock"
STAGES_FOLDER = "stages"
COSTS_FILE = "costs.json"
SUPERPIXELS_FILE = "superpixels.npz"
MOTION_FILE = "motion.npz"
LOOK_FILE, FOUND_FILE = "look.npz", "found.npz"
GROUPS = "groups"
SOURCE_FILE = "source.json"
PRIORS_FILE = "priors.csv"
HISTORY_FILE = "history.csv"
POINTS_FILE = "points.json"
WORDS_FILE = "words.json"

# What is read of a manifest; a run adds more.
MANIFEST_VERSION = 1
OPTIONAL_NUMBER = (*NUMBER, type(None))
OBJECT_SCHEMA = {
    "bound": NUMBER,
    "bound_origin": str,
    "bound_doubt?": NUMBER,
    "name?": str,
    "colour?": [int],
    "frames?": int,
    "frames_with_object?": int,
    "mean_share?": NUMBER,
    "health?": OPTIONAL_NUMBER,
    "look_first?": [int],
}
MANIFEST_SCHEMA = {
    "format": str,
    "state": OneOf(("running", "finished")),
    "identity?": {"version": str, "method": str, "sequence": str, "points": str, "settings": str, "seed": int},
    "sequence?": str,
    "result?": {"objects?": [OBJECT_SCHEMA], "notes?": [str], "warnings?": [str]},
    "groups?": dict,
    "seconds?": Each(NUMBER),
    "memory_mb?": OPTIONAL_NUMBER,
    "cuda_mb?": OPTIONAL_NUMBER,
}

# Errors of the call, not of the run: starting the same run again cannot help.
REFUSALS = (InputError, SettingsError, DeviceError)


@dataclass(frozen=True)
class RunIdentity:
    """What a result depends on; two runs with equal identities give the same result.

    sequence, points, settings, words: hashes. bound: as text. start: what the networks start from, as text.
    witness: name and hash of a pretrained model.
    What has a default was not known to earlier versions.
    """

    version: str
    method: str
    sequence: str
    points: str
    bound: str
    settings: str
    seed: int
    start: str = "random weights"
    words: str = "none"
    witness: str = "none"


# What the user calls each part; {then} and {now} are shown if the value means something to a person.
PART_NAMES = {
    "version": "fewpoint version ({then}, now {now})",
    "method": "method ({then}, now {now})",
    "sequence": "input frames or their names",
    "points": "points",
    "bound": "size limit ({then}, now {now})",
    "settings": "settings",
    "seed": "seed ({then}, now {now})",
    "start": "start ({then}, now {now})",
    "words": "drawn masks, boxes or sizes",
    "witness": "foundation model ({then}, now {now})",
}


class RunFolder:
    """A folder that belongs to one run and, while open, to one process.

    A first start that is refused for its input, settings or device before any stage is done leaves nothing behind; a
    run that is stopped or fails otherwise leaves what it has, to be continued.

    with RunFolder.open("out", identity) as run:
        write_arrays(run.artefact("superpixels.npz"), arrays)
        run.write_manifest("finished", {"seconds": 12.5})
    """

    def __init__(self, path: Path, manifest: dict[str, Any], lock: "BaseFileLock", is_new: bool) -> None:
        self.path = path
        self._manifest = manifest
        self._lock = lock
        self._is_new = is_new

    @classmethod
    def open(cls, path: str | Path, identity: RunIdentity) -> "RunFolder":
        """Create a run folder, or go on with one of the same identity; refuse any other folder untouched."""
        path = Path(path)
        _refuse_foreign(path)
        with explaining_write_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        lock = _acquire(path)
        is_new = _read_manifest(path) is None
        try:
            run = cls(path, _agree_on_manifest(path, identity), lock, is_new)
            run.clean_stale()
            with explaining_write_errors(path):
                (path / STAGES_FOLDER).mkdir(exist_ok=True)
            return run
        except BaseException as error:
            if is_new and not isinstance(error, RunConflictError):
                _discard(path)
            lock.release()
            raise

    @property
    def manifest(self) -> dict[str, Any]:
        """A copy of what manifest.json holds."""
        return dict(self._manifest)

    @property
    def finished(self) -> bool:
        return self._manifest["state"] == "finished"

    def artefact(self, name: str) -> Path:
        """Where a stage keeps its artefact."""
        return self.path / STAGES_FOLDER / name

    def group(self, name: str) -> "RunFolder":
        """The folder of one of several groups of objects."""
        return GroupFolder(self, name)

    def write_manifest(self, state: str, extra: dict[str, Any]) -> None:
        """Record the state, "running" or "finished", and add `extra` to what was recorded before."""
        reserved = sorted(extra.keys() & {"format", "identity", "state", "version"})
        if reserved:
            raise OutputError(f"a manifest's own entries cannot be replaced, got {', '.join(reserved)}; rename them")
        manifest = {**self._manifest, **extra, "state": state}
        write_json(self.path / MANIFEST_FILE, manifest)
        self._manifest = manifest

    def clean_stale(self) -> None:
        """Remove what killed writes left behind."""
        with explaining_write_errors(self.path):
            for leftover in list(self.path.rglob(f"*{PARTIAL_SUFFIX}")):
                remove(leftover)

    def _holds_artefacts(self) -> bool:
        """Whether a stage has left anything that took long to make, as training does."""
        stages = self.path / STAGES_FOLDER
        quick = COSTS_FILE, SUPERPIXELS_FILE, MOTION_FILE
        return any(entry.is_file() and entry.name not in quick for entry in stages.rglob("*"))

    def close(self) -> None:
        """Let go of the folder.

        The empty lock file stays: removing it would let a process that has it open and one that makes a new one both
        believe that the folder is theirs.
        """
        self._lock.release()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_new and isinstance(error, REFUSALS) and not self._holds_artefacts():
            _discard(self.path)
        self.close()


class GroupFolder(RunFolder):
    """What belongs to one group of objects in a run folder: a folder below stages/, and an entry of the manifest."""

    def __init__(self, whole: RunFolder, name: str) -> None:
        super().__init__(whole.path, {}, whole._lock, whole._is_new)
        self._whole, self._name = whole, name
        with explaining_write_errors(self.path):
            self.artefact("").mkdir(exist_ok=True)

    @property
    def manifest(self) -> dict[str, Any]:
        """A copy of the entry."""
        return dict(self._whole.manifest.get(GROUPS, {}).get(self._name, {}))

    @property
    def finished(self) -> bool:
        return self._whole.finished

    def artefact(self, name: str) -> Path:
        return self._whole.artefact(self._name) / name

    def write_manifest(self, state: str, extra: dict[str, Any]) -> None:
        entry = {self._name: {**self.manifest, **extra}}
        self._whole.write_manifest(state, {GROUPS: {**self._whole.manifest.get(GROUPS, {}), **entry}})


@dataclass(frozen=True)
class FoundRun:
    """A run that a folder holds. differences: in what it is not the one asked for, in words."""

    finished: bool
    differences: tuple[str, ...]


def find_run(path: Path, identity: RunIdentity) -> FoundRun | None:
    """What a folder holds, compared with a run of this identity; None if it holds no run."""
    manifest = _read_manifest(path)
    if manifest is None or "identity" not in manifest:
        return None
    return FoundRun(manifest["state"] == "finished", tuple(_list_differences(manifest["identity"], asdict(identity))))


def discard_other_run(path: Path, identity: RunIdentity) -> None:
    """Remove the run that a folder holds if it is another than this; refused while a process works in it."""
    found = find_run(path, identity)
    if found is None or not found.differences:
        return
    lock = _acquire(path)
    try:
        _discard(path)
    finally:
        lock.release()


def save_result(result: Result, folder: Path) -> Path:
    """Write a result into a new or empty folder, for load_result to read; if that fails, the folder is left empty.

    Its manifest has no identity, since a result does not know how it was made.
    """
    if _list_entries(folder):
        raise RunConflictError(f"{folder} must be new or empty, it holds files; give another folder")
    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        write_result(result, folder)
        sequence = {} if result.sequence is None else {"sequence": hash_sequence(result.sequence)}
        described = {"objects": [_describe(each) for each in result.objects], "notes": list(result.notes)}
        manifest = {"format": MANIFEST_FORMAT, "version": MANIFEST_VERSION, "state": "finished", **sequence}
        write_json(folder / MANIFEST_FILE, {**manifest, "result": {**described, "warnings": []}})
    except BaseException:
        for entry in folder.iterdir():
            remove(entry)
        raise
    return folder


def _describe(found: ObjectResult) -> dict[str, Any]:
    """What load_result needs to know of an object besides its arrays."""
    bound = {"bound": found.bound.fraction, "bound_origin": found.bound.origin, "bound_doubt": found.bound.doubt}
    return {"name": found.name, "colour": list(found.label.colour), "frames": len(found.masks), **bound}


def write_result(result: Result, folder: Path, outputs: Outputs = Outputs()) -> None:
    """Write masks, probabilities, priors and history into a folder, replacing those of an earlier write.

    Of several objects, probabilities are (K, T, H, W), masks a label map, and priors and history one file each.
    """
    several = len(result.objects) > 1
    maps = [each.probabilities.values for each in result.objects]
    arrays = {
        "probabilities": stack_arrays(maps, np.float16) if several else maps[0].astype(np.float16, copy=False),
        "masks": result.labels.values if several else result.masks,
        "names": np.array(result.names),
    }
    write_arrays(folder / RESULT_FILE, arrays)
    for number, each in enumerate(result.objects, start=1):
        write_priors(each.priors, folder / _numbered(PRIORS_FILE, number if several else 0))
        write_history(each.history, folder / _numbered(HISTORY_FILE, number if several else 0))
    if result.source is not None:
        write_source(result.source, folder / SOURCE_FILE)
    outputs.write(result, folder)


def write_told(points: PointSet, words: SaidWords, folder: Path) -> None:
    """Write down what a run was told, for one that refines it to know what is new."""
    write_json(folder / POINTS_FILE, PlainPoints.of(points).as_table())
    if words:
        write_json(folder / WORDS_FILE, {name: each.as_table() for name, each in words})


def read_told(folder: Path) -> tuple[PointSet | None, SaidWords]:
    """What write_told wrote; None and nothing for a run of an earlier version."""
    points, words = folder / POINTS_FILE, folder / WORDS_FILE
    with naming(folder), expecting_ours(folder):
        said = read_json(words) if words.exists() else {}
        told = PlainPoints.from_table(read_json(points)).to_points() if points.exists() else None
        return told, tuple((name, Words.from_table(table)) for name, table in sorted(said.items()))


def _numbered(name: str, number: int) -> str:
    """The file of one of several objects; 0 if there is one.

    >>> _numbered("priors.csv", 2)
    'priors-2.csv'
    """
    path = Path(name)
    return f"{path.stem}-{number}{path.suffix}" if number else name


def load_result(folder: str | Path) -> Result:
    """Read back what write_result wrote, except for the course of training."""
    folder = Path(folder)
    with expecting_ours(folder):
        return _load_result(folder)


def load_source(folder: Path) -> Source | None:
    """Where the input of a finished run came from; None if it does not say."""
    read_finished(folder)
    return read_source(folder / SOURCE_FILE) if (folder / SOURCE_FILE).exists() else None


def _load_result(folder: Path) -> Result:
    described = read_finished(folder)["result"]
    masks, maps, names = (load_array(folder / RESULT_FILE, key) for key in ("masks", "probabilities", "names"))
    source = load_source(folder)
    entries = described.get("objects", [described])  # a run of version 0.1 on one object has no list
    several = len(entries) > 1
    objects = tuple(
        ObjectResult(
            masks == number if several else masks,
            ProbabilityMaps(maps[number - 1] if several else maps),
            read_priors(folder / _numbered(PRIORS_FILE, number if several else 0)),
            PriorHistory.empty(len(masks)),
            read_bound(each),
            ObjectLabel(each["name"], tuple(each["colour"])) if "name" in each else UNNAMED,
        )
        for number, each in enumerate(entries, start=1)
    )
    return Result(objects, tuple(names.tolist()), source, tuple(described["notes"]) if several else ())


def read_bound(described: dict[str, Any]) -> AreaBound:
    """The bound of an object by its summary; those of version 0.1 do not say how far to doubt it."""
    return AreaBound(described["bound"], described["bound_origin"], described.get("bound_doubt", 0.0))


def read_finished(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run."""
    manifest = _read_manifest(folder)
    if manifest is None or manifest["state"] != "finished":
        raise InputError(f"{folder} must be the folder of a finished run; give another, or let the run finish first")
    check_table(manifest, {"result": dict}, folder / MANIFEST_FILE)
    return manifest


def _list_entries(folder: Path) -> list[Path]:
    """What a folder holds; nothing if there is none."""
    with explaining_write_errors(folder):
        if not folder.exists():
            return []
        if not folder.is_dir():
            raise OutputError(f"the output must be a folder, {folder} is a file; give another --out")
        return list(folder.iterdir())


def _refuse_foreign(path: Path) -> None:
    """Refuse a file, and a folder that holds anything but has no manifest of ours."""
    strangers = [entry for entry in _list_entries(path) if entry.name != LOCK_FILE and entry.suffix != PARTIAL_SUFFIX]
    if strangers and _read_manifest(path) is None:
        raise RunConflictError(f"{path} is not empty and not a fewpoint run folder; give another --out")


def _read_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest, or None if there is none or it is not ours; InputError for one of ours that was tampered with."""
    try:
        manifest = read_json(path / MANIFEST_FILE)
    except InputError:
        return None
    if manifest.get("format") != MANIFEST_FORMAT:
        return None
    check_version(manifest, MANIFEST_VERSION, path / MANIFEST_FILE)
    check_table(manifest, MANIFEST_SCHEMA, path / MANIFEST_FILE)
    return manifest


def _agree_on_manifest(path: Path, identity: RunIdentity) -> dict[str, Any]:
    """The manifest that is there if it is of the same run, else a new one; runs under the lock."""
    _refuse_foreign(path)
    manifest = _read_manifest(path)
    if manifest is not None and "identity" not in manifest:
        raise RunConflictError(f"{path} holds a result that was saved, not a run; give another --out")
    if manifest is None:
        manifest = {"format": MANIFEST_FORMAT, "version": MANIFEST_VERSION, "state": "running"}
        manifest["identity"] = asdict(identity)
        write_json(path / MANIFEST_FILE, manifest)
        return manifest
    different = _list_differences(manifest["identity"], asdict(identity))
    if different:
        raise RunConflictError(
            f"{path} belongs to another run with different {', '.join(different)}; give another --out"
        )
    return manifest


def _list_differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    then = {**{part.name: part.default for part in fields(RunIdentity)}, **then}
    return [PART_NAMES[part].format(then=then[part], now=value) for part, value in now.items() if then[part] != value]


def _acquire(path: Path) -> "BaseFileLock":
    import filelock

    lock = filelock.FileLock(path / LOCK_FILE, thread_local=False)
    with explaining_write_errors(path):
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise RunConflictError(f"another process works in {path}; wait for it or give another --out") from None
    return lock


def _discard(path: Path) -> None:
    """Remove a run folder that holds nothing worth keeping, its lock file while that is still held."""
    shutil.rmtree(path, ignore_errors=True)
