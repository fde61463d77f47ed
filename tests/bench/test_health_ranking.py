"""benchmarks/health.py on results whose ranks are known."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, PointSet, PriorEstimate, PriorHistory, ProbabilityMaps, Result
from fewpoint.io.images import read_sequence
from fewpoint.report.health import FIGURES
from fewpoint.report.uncertainty import Signs
from finished_runs import keep_run
from synthetic import save_frames

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
    distinct = [0.3, 0.2, 0.1, 0.9, 0.8, 0.7]  # the wrong way round within types, right between them
    decided = [2 * score - sure for score, sure in zip(f1, distinct, strict=True)]  # so that their mean is F1
    rows = [
        (
            "fast",
            "ball" if index < 3 else "blob",
            f1[index],
            {"score": 0.5, "distinct": distinct[index], "decided": decided[index]},  # a score of other times
        )
        for index in range(6)
    ]
    done = rank(write_results(tmp_path / "results.csv", [*rows, ("half-disc", "ball", 0.5, {})]))
    assert done.returncode == 0, done.stderr
    assert "| score | 6 | +1.00 | +1.00 |" in done.stdout
    # Squared differences of ranks: 4 + 0 + 4 + 4 + 0 + 4; 1 - 6 * 16 / (6 * 35) = 0.54.
    assert "| distinct | 6 | +0.54 | -1.00 |" in done.stdout
    assert "| stopped | 0 | – | – |" in done.stdout
    assert "Of the worst quarter by F1, 100% are in the worst quarter by health." in done.stdout


def test_results_of_several_methods_are_not_mixed(tmp_path):
    rows = [(method, "ball", 0.5, {"score": 0.5, "distinct": 0.5}) for method in ("fast", "paper")]
    path = write_results(tmp_path / "results.csv", rows)
    assert "give --method" in rank(path).stderr
    assert "1 results" in rank(path, "--method", "fast").stdout


def test_a_run_is_judged_against_its_truth(tmp_path):
    """A made-up run whose masks are right but on one frame, which looks unlike the others."""
    random = np.random.default_rng(0)
    truth = np.zeros((12, 40, 40), bool)
    truth[:, 12:28, 12:28] = True
    masks = truth.copy()
    masks[7] = np.roll(truth[7], 8, axis=1)
    frames = (np.where(truth, 180, 60) + random.normal(0, 8, truth.shape)).astype(np.uint8)
    source, points = save_frames(frames, tmp_path / "frames"), PointSet.from_rows([(0, 20, 20), (11, 20, 20)])
    drawn = save_frames(255 * truth.astype(np.uint8), tmp_path / "ball" / "case" / "ground_truth-frames")
    sequence = read_sequence(source)
    nothing = PriorEstimate(*[np.zeros(12)] * 3)
    maps = ProbabilityMaps(np.where(masks, 0.95, 0.05).astype(np.float16))
    result = Result.single(
        masks, maps, nothing, PriorHistory.empty(12), AreaBound(0.3), sequence.names, sequence.source
    )
    run = keep_run(tmp_path / "run", sequence, points, result)
    done = rank(f"{run}={drawn}")
    assert done.returncode == 0, done.stderr
    found = re.search(r"\| run \| 0\.96 \| \S+ \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|", done.stdout)
    # One frame of twelve is wrong, by 2 x 8 x 16 pixels: it is suggested, of the two that are. Right pixels of 0.95 and
    # 0.05 are doubted by 0.05 too much, but for the wrong ones.
    assert found is not None, done.stdout
    assert float(found[1]) > 0.4 and found[4] == "1.0000"
    assert 0.5 <= float(found[2]) <= 1 and 0.03 < float(found[3]) < 0.06
    assert "| ball | 1 |" in done.stdout


def test_powers_are_chosen_on_other_types(capsys):
    """Wrong pixels follow doubt in one type and faint outlines in the other, so that each misleads about the other."""
    spec = importlib.util.spec_from_file_location("health_ranking", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rising, even = np.arange(1.0, 13.0), np.ones(12)

    def make(kind: str, doubted: np.ndarray, faint: np.ndarray) -> object:
        signs = Signs(doubted, 0 * even, faint, even, even)
        figures = (0.5, 0.5, np.zeros((1, 2)), 1.0, 0, (1.0, 1.0), ())
        return script.FrameCase(kind, script.Case(kind, 0.5, {"score": 0.5}), signs, rising, *figures)

    script.print_left_out([make("ball", rising[::-1], rising**9), make("blob", rising, rising[::-1] ** 9)])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[-3:] for row in rows[-3:]] == [["-1.00", "-1.00", "0.00 |"]] * 3
