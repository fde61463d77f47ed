"""From a PACS and back by the command line: one of our own, and a real Orthanc where it is installed."""

import json
from pathlib import Path

import numpy as np
import pydicom
import pytest

import fewpoint
from commands import Case, Outcome, snapshot
from dicom_series import NORMAL, SERIES, STUDY, save_series
from fewpoint.cli.main import run
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.masks import read_masks
from fewpoint.io.pacs.addresses import SeriesAddress
from fewpoint.io.pacs.service import Pacs
from pacs_servers import PASSWORD, USER, fake_pacs, needs_orthanc, orthanc

NAME = "Doe^Jane"
SCOUT = f"{SERIES}9"


@pytest.fixture(scope="module", params=["our own", pytest.param("Orthanc", marks=needs_orthanc)])
def study(request, tmp_path_factory):
    """A PACS with a tilted CT of the phantom and a scout, the case of its points, and the environment of commands."""
    folder = tmp_path_factory.mktemp("pacs")
    case = Case.make(folder / "case")
    phantom = make_phantom(n_frames=6, size=(48, 40)).sequence.frames[..., 0].astype(np.uint16)
    save_series(folder / "series", phantom, PatientName=NAME, step=NORMAL * 2)
    save_series(folder / "series", phantom[:1], SCOUT, SeriesDescription="scout", PatientName=NAME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEWPOINT_CACHE", str(folder / "cache"))
        patch.setenv("FEWPOINT_DICOMWEB_USER", USER)
        patch.setenv("FEWPOINT_DICOMWEB_PASSWORD", PASSWORD)
        if request.param == "our own":
            with fake_pacs() as held:
                held.keep(folder / "series")
                yield case, held.address
        else:
            with orthanc(folder / "orthanc") as address:
                for path in (folder / "series").iterdir():
                    Pacs.at(address).store(path.read_bytes(), STUDY)
                yield case, address


def call(capfd, *arguments: object) -> Outcome:
    """A command in this process, which need not load torch each time."""
    code = run([str(argument) for argument in arguments])
    return Outcome(code, *capfd.readouterr())


def test_masks_of_a_series_are_stored_back_once_and_nobody_learns_a_secret(study, tmp_path, capfd):
    case, address = study
    series, out = f"{address}/studies/{STUDY}/series/{SERIES}", tmp_path / "run"
    listed = call(capfd, *case.segment("--out", out, frames=f"{address}/studies/{STUDY}"))
    assert listed.code == 1 and "2 series of images" in listed.err and listed.err.count("\n") == 1

    ask = case.segment("-vv", "--out", out, "--store", "back", "--format", "nifti", frames=series)
    first = call(capfd, *ask)
    assert first.code == 0, first.err
    assert f"stored: {address}/studies/{STUDY}/series/" in first.out
    again = call(capfd, *ask, "--json")
    stored = json.loads(again.out)["stored"]
    assert (stored["is_new"], stored["study"]) == (False, STUDY)
    np.testing.assert_array_equal(fetch_masks(address, stored["series"], tmp_path), read_masks(out / "masks.nii.gz"))

    said = "".join((listed.err, first.out, first.err, again.out, again.err))
    kept = b"".join(data for name, data in snapshot(out).items() if not name.endswith(".dcm"))
    for secret in (PASSWORD, NAME):
        assert secret not in said
        assert secret.encode() not in kept

    renamed = [
        call(capfd, "convert", out, "--store", to, "--rename", "object=liver", "--json") for to in ("back", address)
    ]
    one, other = (json.loads(each.out)["stored"] for each in renamed)
    assert (one["is_new"], other["is_new"], one["instance"]) == (True, False, other["instance"])
    assert one["instance"] != stored["instance"]
    (out / "masks.dcm").unlink()
    assert out / "masks.dcm" in fewpoint.convert(out, store="back")


def fetch_masks(address: str, series: str, folder: Path) -> np.ndarray:
    """(6, 48, 40) of a stored segmentation, each frame on the image that it names."""
    (folder / "seg").mkdir()
    pacs = Pacs.at(address)
    pacs.fetch(SeriesAddress(pacs.address, STUDY, series), folder / "seg", 1)
    (path,) = (folder / "seg").iterdir()
    masks, seg = np.zeros((6, 48, 40), bool), pydicom.dcmread(path)
    for frame, groups in zip(seg.pixel_array.reshape(-1, 48, 40), seg.PerFrameFunctionalGroupsSequence, strict=True):
        source = groups.DerivationImageSequence[0].SourceImageSequence[0]
        masks[int(source.ReferencedSOPInstanceUID.rpartition(".")[-1])] = frame  # our UIDs end in the slice's number
    assert masks.any()
    return masks


def test_what_cannot_be_stored_is_told_before_anything_is_learnt(tmp_path, capfd):
    case = Case.make(tmp_path / "case")
    local = call(capfd, *case.segment("--store", "back"))
    nobody = call(capfd, *case.segment("--store", "dicomweb://localhost:1"))
    assert (local.code, nobody.code) == (1, 1)
    assert "not fetched from a PACS" in local.err and "cannot talk to" in nobody.err
    assert not case.out.exists()
