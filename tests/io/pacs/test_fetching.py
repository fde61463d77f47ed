"""Series from a PACS as inputs: fetched once, kept within limits, read as any other series."""

import os
import stat

import numpy as np
import pytest

from dicom_series import SERIES, SLICES, STUDY, save_series, save_two_series
from fewpoint.core import LabelMap, ObjectLabel
from fewpoint.errors import InputError
from fewpoint.io.dicom_seg import write_dicom_seg
from fewpoint.io.images import read_sequence
from fewpoint.io.jobs import load_job, write_job
from fewpoint.io.pacs.fetching import find_origin, kept_folder, locate
from fewpoint.io.pacs.storing import choose_pacs, store_seg
from fewpoint.io.rows import Row, build_job
from pacs_servers import FakePacs, fake_pacs

VENOUS = f"{SERIES[:-4]}4002"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("FEWPOINT_CACHE", str(tmp_path / "cache"))
    with fake_pacs() as held:
        held.keep(save_two_series(tmp_path / "series"))
        yield held


def series(server: FakePacs, uid: str = SERIES) -> str:
    return f"{server.address}/studies/{STUDY}/series/{uid}"


def test_a_series_reads_as_its_files_do(server, tmp_path):
    own = read_sequence(save_series(tmp_path / "own", SLICES[:3]))
    fetched = read_sequence(series(server))
    np.testing.assert_array_equal(fetched.frames, own.frames)
    assert fetched.geometry is not None and own.geometry is not None
    np.testing.assert_array_equal(fetched.geometry.affine, own.geometry.affine)
    assert fetched.source is not None and fetched.source.origin == series(server)


def test_a_study_of_several_series_is_one_line_that_lists_them(server):
    with pytest.raises(InputError, match=r"2 series.*4001 \(arterial, CT, 3 images\).*4002 \(venous, CT, 4 images\)"):
        locate(f"{server.address}/studies/{STUDY}")
    with pytest.raises(InputError, match=r"no series 1\.2\.3 of images; .*4001"):
        locate(series(server, "1.2.3"))
    with pytest.raises(InputError, match=r"no images of the study 1\.2\.3"):
        locate(f"{server.address}/studies/1.2.3")


def test_a_study_of_one_series_of_images_needs_no_more_words(server, tmp_path):
    server.objects.clear()
    server.keep(save_series(tmp_path / "one"))
    sequence = read_sequence(series(server))
    labels = LabelMap(np.ones(sequence.shape[:3], np.uint8), (ObjectLabel("liver"),), sequence.names, sequence.source)
    write_dicom_seg(labels, tmp_path / "masks.dcm")
    server.take((tmp_path / "masks.dcm").read_bytes())
    assert find_origin(locate(f"{server.address}/studies/{STUDY}")) == series(server)


def test_what_is_kept_needs_no_pacs_and_no_credentials(server):
    first = locate(series(server))
    server.answer = lambda handler: handler.reply(401, "text/plain", b"") or True
    heard = len(server.heard)
    assert locate(series(server)) == first
    assert len(server.heard) == heard


def test_what_is_kept_is_for_its_owner_alone(server):
    locate(series(server))
    assert stat.S_IMODE(kept_folder().stat().st_mode) == 0o700


def test_a_damaged_copy_is_fetched_again(server):
    folder = locate(series(server))
    (folder / "000002.dcm").write_bytes(b"")
    assert locate(series(server)) == folder
    assert (folder / "000002.dcm").stat().st_size > 0


def test_a_failed_fetch_leaves_nothing(server):
    server.answer = lambda handler: "instances" not in handler.path and _break_off(handler)
    with pytest.raises(InputError):
        locate(series(server))
    assert [path for path in kept_folder().iterdir() if path.suffix != ".lock"] == []


def _break_off(handler) -> bool:
    if handler.path.endswith(SERIES):
        handler.reply(200, "multipart/related; boundary=b", b"--b\r\n\r\n" + b"\0" * 128 + b"DICM" + b"x" * 5000)
        return True
    return False


def test_what_was_not_used_for_longest_goes_first(server, monkeypatch):
    first, second = locate(series(server)), locate(series(server, VENOUS))
    os.utime(second / ".origin.json", (1, 1))
    monkeypatch.setenv("FEWPOINT_DICOMWEB_GB", "0.000005")
    other = locate(f"{series(server).replace('localhost', '127.0.0.1')}")
    assert other.exists() and not second.exists()
    monkeypatch.setenv("FEWPOINT_DICOMWEB_GB", "0")
    assert locate(series(server, VENOUS)).exists() and not first.exists()


def test_a_limit_that_is_none_is_refused(server, monkeypatch):
    monkeypatch.setenv("FEWPOINT_DICOMWEB_GB", "lots")
    with pytest.raises(InputError, match="FEWPOINT_DICOMWEB_GB"):
        locate(series(server))


def test_a_segmentation_is_written_after_the_copy_is_gone_and_stored_once(server, tmp_path):
    sequence = read_sequence(series(server))
    assert sequence.source is not None
    for path in locate(series(server)).iterdir():
        path.unlink()
    locate(series(server)).rename(tmp_path / "moved")
    values = np.zeros(sequence.shape[:3], np.uint8)
    values[1, 2:4, 1:5] = 1
    labels = LabelMap(values, (ObjectLabel("liver"),), sequence.names, sequence.source)
    write_dicom_seg(labels, tmp_path / "masks.dcm")
    stored = store_seg(tmp_path / "masks.dcm", server.pacs)
    write_dicom_seg(labels, tmp_path / "again.dcm")
    again = store_seg(tmp_path / "again.dcm", server.pacs)
    assert (stored.is_new, again.is_new) == (True, False)
    assert stored.instance == again.instance and len(server.asked("POST")) == 1
    assert server.objects[stored.instance].data == (tmp_path / "masks.dcm").read_bytes()


def test_other_names_are_another_segmentation(server, tmp_path):
    sequence = read_sequence(series(server))
    values = np.ones(sequence.shape[:3], np.uint8)
    for name in ("liver", "spleen"):
        labels = LabelMap(values, (ObjectLabel(name),), sequence.names, sequence.source)
        write_dicom_seg(labels, tmp_path / "masks.dcm")
        assert store_seg(tmp_path / "masks.dcm", server.pacs).is_new


def test_nothing_goes_back_that_did_not_come_from_a_pacs(server):
    assert choose_pacs("back", series(server)) == server.pacs.address
    with pytest.raises(InputError, match="not fetched from a PACS"):
        choose_pacs("back", "")


def test_rows_and_jobs_name_series_by_their_address(server, tmp_path):
    (tmp_path / "p.csv").write_text("frame,y,x\n1,2,3\n")
    row = Row("line 2", tmp_path, {"input": series(server), "points": "p.csv"})
    from fewpoint.core.job import Job

    job = build_job(row, Job())
    assert (job.input, job.name) == (series(server), SERIES)
    write_job(job, tmp_path / "job.json")
    assert load_job(tmp_path / "job.json").input == series(server)
