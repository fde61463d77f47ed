"""No change of the program may change a mask, a probability or a figure of the history by a bit unless it is meant to.

`FEWPOINT_RECORD=1 python -m pytest tests/golden` writes the hashes anew; CONTRIBUTING.md says what such a change needs.
"""

import json
import os
from pathlib import Path

import pytest

from golden.cases import CASES, Bench, describe_arithmetic, hash_run, real
from real_data import data_root

HASHES = Path(__file__).parent / "hashes.json"
REAL = ("polyp/polyp_cvcclinic_seq07",)


@pytest.fixture(autouse=True)
def no_report(monkeypatch) -> None:
    """Leave the report out: drawing it takes longer than all the rest."""
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)


@pytest.fixture
def pace(monkeypatch) -> None:
    """A machine of which every network takes an hour and a half an epoch, whatever this one is."""
    from fewpoint.pipeline import group as run
    from fewpoint.pipeline.pace import Pace

    monkeypatch.setattr(run, "refuse_hopeless", lambda *given: None)
    monkeypatch.setattr(run, "measure_pace", lambda *given: Pace(step=1800.0, look=0.0, masks=0.0, steps=3))


@pytest.mark.parametrize("name", CASES)
def test_a_small_run_gives_the_same_to_the_bit(name, tmp_path, pace):
    compare(name, hash_run(CASES[name](Bench(tmp_path))))


@pytest.mark.skipif(data_root() is None, reason="the real sequences are not there; FEWPOINT_DATA names their folder")
@pytest.mark.parametrize("name", REAL)
def test_a_real_sequence_gives_the_same_to_the_bit(name, tmp_path):
    compare(name, hash_run(real(Bench(tmp_path), data_root() / name)))


def compare(name: str, hashes: dict[str, str]) -> None:
    recorded = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    if os.environ.get("FEWPOINT_RECORD"):
        recorded |= {"arithmetic": describe_arithmetic(), name: hashes}
        HASHES.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    elif recorded["arithmetic"] != describe_arithmetic():
        pytest.skip("the hashes were recorded with another processor or other libraries")
    else:
        assert hashes == recorded[name]
