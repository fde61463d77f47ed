"""benchmarks/health.py on results whose ranks are known."""

import subprocess
import sys
from pathlib import Path

from fewpoint.report.health import FIGURES

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "health.py"


def rank(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, timeout=120, check=False)


def write_results(path: Path, rows: list[tuple[str, str, float, dict[str, object]]]) -> Path:
    names = [f"health_{figure}" for figure in FIGURES]
    lines = [",".join(["method", "bound", "type", "f1", *names])]
    for method, kind, f1, figures in rows:
        values = [str(figures.get(figure, "")) for figure in FIGURES]
        lines.append(",".join([method, "eta", kind, str(f1), *values]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_each_figure_is_ranked_against_f1_over_all_results_and_within_types(tmp_path):
    f1 = [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
    certainty = [0.3, 0.2, 0.1, 0.9, 0.8, 0.7]  # the wrong way round within types, right between them
    steadiness = [2 * score - sure for score, sure in zip(f1, certainty, strict=True)]  # so that their mean is F1
    rows = [
        (
            "fast",
            "ball" if index < 3 else "blob",
            f1[index],
            {"score": 0.5, "certainty": certainty[index], "steadiness": steadiness[index]},  # a score of other times
        )
        for index in range(6)
    ]
    done = rank(write_results(tmp_path / "results.csv", [*rows, ("half-disc", "ball", 0.5, {})]))
    assert done.returncode == 0, done.stderr
    assert "| score | 6 | +1.00 | +1.00 |" in done.stdout
    # Squared differences of ranks: 4 + 0 + 4 + 4 + 0 + 4; 1 - 6 * 16 / (6 * 35) = 0.54.
    assert "| certainty | 6 | +0.54 | -1.00 |" in done.stdout
    assert "| stopped | 0 | – | – |" in done.stdout
    assert "Of the worst quarter by F1, 100% are in the worst quarter by health." in done.stdout


def test_results_of_several_methods_are_not_mixed(tmp_path):
    rows = [(method, "ball", 0.5, {"score": 0.5, "certainty": 0.5}) for method in ("fast", "paper")]
    path = write_results(tmp_path / "results.csv", rows)
    assert "give --method" in rank(path).stderr
    assert "1 results" in rank(path, "--method", "fast").stdout
