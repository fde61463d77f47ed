"""The notebook of the documentation runs from top to bottom."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "examples" / "first-run.ipynb"


def test_the_notebook_runs_and_finds_the_object(capsys):
    """All cells, one after another, as Jupyter would: no cell uses what plain Python does not have."""
    plt.switch_backend("agg")
    names: dict[str, object] = {}
    cells = [each for each in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if each["cell_type"] == "code"]
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    plt.close("all")
    score = names["score_masks"](names["result"].masks, names["phantom"].truth)
    assert score.pooled.f1 > 0.8
    assert capsys.readouterr().out.endswith("the same masks: True\n")
    assert all(cell["outputs"] for cell in cells if "print" in "".join(cell["source"])), "run it, and keep its outputs"
