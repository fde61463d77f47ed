"""The page's modules are typed, and their types are those of the server."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the annotator is not installed; pip install 'fewpoint[annotate]'")

from pydantic import BaseModel

from fewpoint.core import actions
from fewpoint.web import messages
from fewpoint.web.server import STATIC

HERE = Path(__file__).parent
TYPESCRIPT = "typescript@5.9.3"
# What the page sends is written where it is sent, and errors are read as they come.
NOT_MIRRORED = {"Strict", "ErrorMessage"}


def test_every_module_of_the_page_passes_the_strict_type_check():
    """With the TypeScript compiler of this machine, or one fetched for the purpose; nothing of it is shipped."""
    if shutil.which("tsc"):
        checker = ["tsc"]
    elif shutil.which("npx"):
        checker = ["npx", "--yes", "--package", TYPESCRIPT, "tsc"]
    else:
        pytest.skip("there is neither tsc nor npx on this machine; apt-get install nodejs npm")
    command = [*checker, "--project", str(HERE / "tsconfig.json")]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npx could not fetch {TYPESCRIPT}")
    if result.returncode != 0 and "error TS" not in result.stdout:
        pytest.skip(f"npx could not fetch {TYPESCRIPT}: {result.stderr.strip()[-200:]}")
    assert result.returncode == 0, result.stdout


def described_types() -> dict[str, set[str]]:
    """The fields of each typedef of types.js, in either way of writing one."""
    text = (STATIC / "types.js").read_text(encoding="utf-8")
    short = re.findall(r"@typedef \{\{([^{}]*)\}\} (\w+)", text)
    found = {name: set(re.findall(r"(\w+)\??:", body)) for body, name in short}
    for block in re.findall(r"/\*\*\n(.*?)\*/", text, re.DOTALL):
        head = re.search(r"@typedef \{object\} (\w+)", block)
        if head:
            found[head[1]] = set(re.findall(r"@property \{.*?\} (\w+)", block))
    return found


def test_the_page_describes_every_message_with_the_fields_that_the_server_sends():
    sent = {
        name: set(model.model_fields)
        for name, model in vars(messages).items()
        if isinstance(model, type) and issubclass(model, BaseModel) and model is not BaseModel
    }
    expected = {
        name: fields
        for name, fields in sent.items()
        if name not in NOT_MIRRORED and not name.endswith(("Event", "Query", "Request"))
    }
    described = described_types()
    assert {name: described.get(name) for name in expected} == expected


def test_the_page_knows_every_action_with_its_fields():
    text = (STATIC / "types.js").read_text(encoding="utf-8")
    block = re.search(r"@typedef (\{\{kind: \"add_point\".*?)\} Action\n", text, re.DOTALL)[1]
    described = {}
    for body in re.findall(r"\{(kind: \"\w+\"[^{}]*)\}", block):
        described[re.search(r"kind: \"(\w+)\"", body)[1]] = set(re.findall(r"(\w+)\??:", body))
    expected = {
        kind.__dataclass_fields__["kind"].default: set(kind.__dataclass_fields__)
        for kind in vars(actions).values()
        if isinstance(kind, type) and "kind" in getattr(kind, "__dataclass_fields__", {})
    }
    assert described == expected
