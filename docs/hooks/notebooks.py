"""A notebook as a page: its text, its code, and what it printed and drew when it was run last."""

import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "first-run.ipynb"


def show_first_run() -> str:
    return "\n\n".join(map(_show, json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]))


def _show(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *map(_show_output, cell["outputs"])])


def _show_output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{"".join(data["image/png"]).replace(chr(10), "")}">'
    if "text/html" in data:
        shown = "".join(data["text/html"])
        return "" if "<progress" in shown else shown  # how far it is means nothing afterwards
    return "```text\n" + "".join(output.get("text", data.get("text/plain", ""))).rstrip() + "\n```"
