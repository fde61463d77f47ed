"""What a run was asked, in words and as a command."""

import shlex
from pathlib import Path

import pytest

from fewpoint.cli import segment
from fewpoint.cli.main import run as run_command
from fewpoint.core.job import GivenBound, GivenWords, Job, OutlineFile, OutputChoice, PlainPoints
from fewpoint.core.source import Reading
from fewpoint.core.words import Box
from fewpoint.report.health import FIGURES, Health
from fewpoint.report.judging import Judgement
from fewpoint.report.uncertainty import FrameWorth
from fewpoint.runs.provenance import describe_job, suggest_steps, write_command

JOBS = {
    "plain": Job("scan.nii.gz", "my points.csv", name="run"),
    "much": Job(
        "scan.nii.gz",
        "points.csv",
        reading=Reading(axis="1", channels=(0, 2), added=("t2.nii.gz",), window=(-160.0, 240.0)),
        bounds=(("", GivenBound(0.2)), ("liver", GivenBound(box=(3, 1, 2, 30, 40)))),
        preset="fast",
        changes=(("training.batch", "2"), ("augmentation.flips", "false")),
        seed=3,
        device="cpu",
        outputs=OutputChoice(("nifti", "png"), probabilities=True),
        name="run",
        added_words=(("liver", GivenWords((OutlineFile("drawn.png", 4),), (Box(5, 1, 2, 8, 9),), 1.2, ((7, 0.8),))),),
    ),
    "refined": Job("frames", "points.csv", refine="first", witness="sam2-tiny", name="run"),
}


@pytest.mark.parametrize("name", JOBS)
def test_the_command_asks_for_the_same_job(name, monkeypatch):
    found = []
    monkeypatch.setattr(segment, "_run", lambda job, out, *told: found.append((job, out)))
    monkeypatch.setattr("fewpoint.io.jobs.settle_job", lambda job: job)
    command = shlex.split(write_command(JOBS[name], Path("out dir/run")))
    assert command[0] == "fewpoint" and run_command(command[1:]) == 0
    assert found == [(JOBS[name], Path("out dir/run"))]


def test_points_of_a_job_are_counted_and_its_preset_named():
    asked = describe_job(Job("frames", PlainPoints(((0, 1, 2), (3, 4, 5)))), Path("run"))
    assert (asked["Input"], asked["Points"], asked["Preset"]) == ("frames", "2 given with the job", "auto")
    assert asked["Date"][:2] == "20" and "--points POINTS.csv" in asked["Command"]


def test_a_refinement_is_suggested_as_the_input_was_read_and_only_of_what_has_learnt():
    judged = Judgement(Health(*[0.5] * len(FIGURES)), (FrameWorth(7, "0007", 1.0, 0.1, 0.1),))
    asked = describe_job(JOBS["much"], Path("run"))
    (look, command), *_ = suggest_steps(asked, Path("run"), judged, learnt=True)
    read = "--axis 1 --channels 0,2 --with t2.nii.gz --window 40,400"
    assert command == f"fewpoint segment scan.nii.gz --points POINTS.csv {read} --refine run --out run-2"
    assert look.startswith("Review frames 7 first. Where a mask is wrong")
    plain = suggest_steps(asked, Path("run"), judged, learnt=False)
    assert plain == (
        ("Review frames 7 first.", ""),
        ("Take the masks to another program.", "fewpoint convert run --format nifti"),
    )
