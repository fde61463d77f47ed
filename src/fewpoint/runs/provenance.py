"""What a run was asked, for its manifest and the head of its report, and what to do when it is over."""

import shlex
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from fewpoint.core.job import EVERY, GivenBound, GivenWords, Job, PlainPoints, PointFiles, Value
from fewpoint.report.judging import Judgement

ASKED = "asked"  # where the manifest keeps it
NAMED_FRAMES = 6
READING = ("--axis", "--channels", "--with", "--window")  # options that a refinement needs again
LOOK = "Review frames {} first."
REFINE = (
    "Where a mask is wrong, add clicks on what it misses and background clicks on what it should not hold, and refine "
    "the run, which takes a fraction of its time."
)
RECUT = "If all masks are too small or too large, or have specks, cut them again in a second; the old ones are kept."
CONVERT = "Take the masks to another program."


def describe_job(job: Job, out: Path) -> dict[str, str]:
    """Input, points, preset and date in words, and a command that asks for the same."""
    files = ", ".join(_write_points(job.point_files))
    points = f"{len(job.points.rows)} given with the job" if isinstance(job.points, PlainPoints) else files
    asked = {"Input": job.input or "frames in memory", "Points": points or "drawn masks"}
    if job.method is not None:
        asked["Method"] = job.method
    else:
        asked["Preset"] = job.preset or ("that of the refined run" if job.refine else "auto")
    asked["Command"] = write_command(job, out)
    asked["Date"] = datetime.now().astimezone().isoformat(" ", "seconds")
    return asked


def write_command(job: Job, out: Path) -> str:
    """The command line that asks for the same run; points that are in no file are to be written to POINTS.csv.

    >>> write_command(Job("scan.nii.gz", "my points.csv", preset="fast"), Path("run"))
    "fewpoint segment scan.nii.gz --points 'my points.csv' --preset fast --out run"
    """
    parts = ["fewpoint", "segment", job.input or "INPUT"]
    points = ["POINTS.csv"] if isinstance(job.points, PlainPoints) else _write_points(job.point_files)
    for option, value in (
        *(("--points", each) for each in points),
        ("--axis", "" if job.reading.axis == "auto" else job.reading.axis),
        ("--channels", ",".join(map(str, job.reading.channels))),
        *(("--with", path) for path in job.reading.added),
        ("--window", _write_window(job.reading.window)),
        *(_write_bound(name, bound) for name, bound in job.bounds),
        *(option for name, given in job.added_words for option in _write_words(name, given)),
        ("--method", job.method),
        ("--preset", job.preset),
        *(("--set", f"{name}={_write_value(value)}") for name, value in job.changes),
        ("--seed", str(job.seed) if job.seed else ""),
        ("--device", "" if job.device == "auto" else job.device),
        ("--refine", job.refine),
        ("--warm-start", job.warm_start),
        ("--witness", job.witness),
        *(("--format", name) for name in job.outputs.formats if name != "auto"),
        ("--out", str(out)),
    ):
        parts += [option, value] if value else []
    return shlex.join([*parts, *(["--probabilities"] if job.outputs.probabilities else [])])


def _write_points(files: PointFiles) -> list[str]:
    return [f"{name}={path}" if name else path for name, path in files]


def _write_value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write_window(window: tuple[float, float] | None) -> str:
    """LEVEL,WIDTH of the values that are black and white."""
    return "" if window is None else f"{(window[0] + window[1]) / 2:g},{window[1] - window[0]:g}"


def _write_bound(name: str, bound: GivenBound) -> tuple[str, str]:
    whose = "" if name == EVERY else f"{name}="
    if bound.box is None:
        return "--max-fraction", f"{whose}{bound.fraction:g}"
    return "--largest-box", whose + ",".join(map(str, bound.box))


def _write_words(name: str, given: GivenWords) -> list[tuple[str, str]]:
    whose = "" if name == EVERY else f"{name}="
    sizes = [] if given.size is None else [f"{given.size:g}"]
    sizes += [f"{frame}:{factor:g}" for frame, factor in given.sizes]
    boxes = [",".join(map(str, (box.frame, box.top, box.left, box.bottom, box.right))) for box in given.boxes]
    drawn = [file.path if file.frame is None else f"{file.frame}={file.path}" for file in given.outlined]
    by_option = {"--outlined": drawn, "--box": boxes, "--size": sizes}
    return [(option, whose + value) for option, values in by_option.items() for value in values]


def suggest_steps(asked: dict[str, str], folder: Path, judged: Judgement, learnt: bool) -> tuple[tuple[str, str], ...]:
    """What to do with a finished run, each with its command. learnt: whether it has networks that can be refined."""
    run, frames = shlex.quote(str(folder)), ", ".join(map(str, judged.suggested[:NAMED_FRAMES]))
    look = LOOK.format(frames)
    steps = [(f"{look} {REFINE}", _write_refinement(asked, folder)) if learnt else (look, "")] if frames else []
    steps += [(RECUT, f"fewpoint recut {run} --size 1.2 --clean")] if learnt else []
    return (*steps, (CONVERT, f"fewpoint convert {run} --format nifti"))


def _write_refinement(asked: dict[str, str], folder: Path) -> str:
    points = asked.get("Points", "")
    given = points if Path(points).is_file() else "POINTS.csv"
    told = shlex.split(asked.get("Command", ""))
    reading = [part for option, value in pairwise(told) if option in READING for part in (option, value)]
    refined = ["--refine", str(folder), "--out", f"{folder}-2"]
    return shlex.join(["fewpoint", "segment", asked.get("Input", "INPUT"), "--points", given, *reading, *refined])
