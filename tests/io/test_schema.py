"""Files of ours that somebody changed are met by one line that names file and field, or made anew."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from fewpoint.batch.status import read_status
from fewpoint.errors import InputError
from fewpoint.io.runs import RunFolder, RunIdentity, find_run, load_result, read_finished, read_told
from fewpoint.io.schema import NUMBER, OneOf, check_table, expecting_ours
from fewpoint.io.sources import read_source
from fewpoint.pipeline.artefacts import keep_superpixels, load_or_none
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.members import load_trained

IDENTITY = RunIdentity("0.1.0", "fewpoint", "5e9", "901", "0.1", "5e7", 3)
PATH = Path("file.json")


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ([], "it must be an object"),
        ({}, "must have the field a"),
        ({"a": True}, "a must be a whole number or a number, got True"),
        ({"a": 1, "b": 2}, "b must be a list"),
        ({"a": 1, "b": ["x", 3]}, r"b\[1\] must be a text"),
        ({"a": 1, "c": {"d": "z"}}, "c.d must be one of x, y"),
        ({"a": 1, "c": {}}, "must have the field c.d"),
    ],
)
def test_a_field_that_is_wrong_is_named(table, line):
    schema = {"a": NUMBER, "b?": [str], "c?": {"d": OneOf(("x", "y"))}}
    with pytest.raises(InputError, match=rf"^file\.json.*{line}"):
        check_table(table, schema, PATH)


def test_what_fits_and_what_is_added_is_taken():
    check_table({"a": 1.5, "b": [], "more": None}, {"a": NUMBER, "b?": [str], "c?": str}, PATH)


def test_whatever_a_changed_file_leads_to_is_one_line():
    for wrong in (KeyError("x"), TypeError("y"), IndexError("z"), AttributeError("w"), ZeroDivisionError("v")):
        with pytest.raises(InputError, match="not as fewpoint wrote it"), expecting_ours(PATH):
            raise wrong


CHANGES = [
    {"state": 5},
    {"state": "done"},
    {"identity": []},
    {"identity": {}},
    {"identity": {**asdict(IDENTITY), "seed": "3"}},
    {"result": []},
    {"result": {"objects": [{}]}},
    {"result": {"objects": [{"bound": "x", "bound_origin": "given"}]}},
    {"result": {"objects": [{"bound": 0.1, "bound_origin": "given", "look_first": ["x"]}]}},
    {"groups": 7},
    {"seconds": {"learning": []}},
    {"memory_mb": "much"},
    {"version": 2},
    {"version": "new"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_manifest_that_was_changed_is_refused_by_every_reader(tmp_path, change):
    manifest = {"format": "fewpoint run", "state": "finished", "identity": asdict(IDENTITY), "result": {}}
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, **change}))
    for read in (load_result, read_finished, lambda path: find_run(path, IDENTITY)):
        with pytest.raises(InputError, match=r"manifest\.json"):
            read(tmp_path)
    with pytest.raises(InputError, match=r"manifest\.json"):
        RunFolder.open(tmp_path, IDENTITY)
    assert (tmp_path / "manifest.json").exists()


def test_a_result_whose_files_are_gone_or_changed_is_refused_in_a_line(tmp_path):
    result = {"objects": [{"bound": 0.1, "bound_origin": "given", "colour": [1]}]}
    manifest = {"format": "fewpoint run", "state": "finished", "identity": asdict(IDENTITY), "result": result}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError):
        load_result(tmp_path)


@pytest.mark.parametrize("text", ['{"path": 1}', "[]", "{", '{"a":' * 100_000, '{"path": "x", "format": []}'])
def test_a_source_that_was_changed_is_refused(tmp_path, text):
    (tmp_path / "source.json").write_text(text)
    with pytest.raises(InputError, match=r"source\.json"):
        read_source(tmp_path / "source.json")


@pytest.mark.parametrize("text", ['{"frame": 3}', '{"objects": 1}', "7"])
def test_points_that_were_changed_are_refused(tmp_path, text):
    (tmp_path / "points.json").write_text(text)
    with pytest.raises(InputError):
        read_told(tmp_path)


def test_artefacts_that_cannot_be_read_are_made_anew(tmp_path):
    import numpy as np

    from fewpoint.core import SuperpixelMap

    labels = np.zeros((1, 4, 4), np.int32)
    with RunFolder.open(tmp_path / "run", IDENTITY) as run:
        for damage in (b"", b"nothing", b"PK\3\4"):
            run.artefact("superpixels.npz").write_bytes(damage)
            found, reused = keep_superpixels(run, lambda: SuperpixelMap(labels))
            assert not reused and np.array_equal(found.labels, labels)
            run.artefact("network-1-0.npz").write_bytes(damage)
            assert load_or_none(run.artefact("network-1-0.npz"), load_trained) is None
        assert keep_superpixels(run, lambda: pytest.fail("made twice"))[1]
        for text in ("{", "{}", '{"seconds": 3, "memory": {}}'):
            run.artefact("costs.json").write_text(text)
            assert StageLog(run, print).seconds == {}


@pytest.mark.parametrize("change", [{"state": "x"}, {"running": []}, {"failed": "all"}, {"at": None}, {"counts": 1}])
def test_the_status_of_a_batch_that_was_changed_is_refused(tmp_path, change):
    from fewpoint.batch.folder import MARK, MARK_FILE, BatchFolder

    (tmp_path / MARK_FILE).write_text(json.dumps(MARK))
    good = {"state": "finished", "counts": {}, "running": {}, "seconds_left": None, "failed": [], "at": 1.0}
    status = BatchFolder(tmp_path).status
    status.write_text(json.dumps(good))
    assert read_status(tmp_path).state == "finished"
    status.write_text(json.dumps({**good, **change}))
    with pytest.raises(InputError, match=next(iter(change))):
        read_status(tmp_path)
