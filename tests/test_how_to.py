"""Every command of the pages about formats runs, on files of the names that they use."""

import json
import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import SimpleITK
import tifffile

from dicom_series import save_film, save_series
from fewpoint.cli.main import run
from fewpoint.evaluation.phantom import make_objects, make_phantom
from fewpoint.io.formats import FILES, FILM_FILE
from fewpoint.io.points import write_points
from fewpoint.io.zarr_images import write_zarr
from synthetic import save_frames
from tiny_runs import TINY
from videos import save_video
from volumes import save_nifti

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("nifti", "nrrd-and-metaimage", "dicom", "video", "tiff", "zarr", "frames", "convert", "objects")
PAGES = [ROOT / "docs" / "how-to" / f"{name}.md" for name in NAMES]
SPACING_MM = np.diag([0.5, 0.5, 3.0, 1.0])


def find_commands(page: Path) -> list[str]:
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """One phantom in every format, cut along its last axis, with its clicks."""
    folder = tmp_path_factory.mktemp("inputs")
    phantom = make_phantom(n_frames=5, size=(48, 40))
    frames = phantom.sequence.frames[..., 0]
    colour = np.repeat(phantom.sequence.frames, 3, axis=-1)
    write_points(phantom.points, folder / "points.csv")
    np.savetxt(folder / "voxels.csv", phantom.points.coordinates[:, ::-1], "%d", ",", header="i,j,k", comments="")
    both = make_objects(n_frames=5, size=(48, 40))
    names = [{"object 1": "liver", "object 2": "spleen"}[name] for name in both.points.objects]
    write_points(replace(both.points, objects=tuple(names)), folder / "objects.csv")
    save_nifti(folder / "organs.nii.gz", np.ascontiguousarray(both.labels.T), SPACING_MM)
    for name, values in {"volume": frames, "t1": frames, "labels": phantom.truth.astype(np.uint8)}.items():
        save_nifti(folder / f"{name}.nii.gz", np.ascontiguousarray(values.T), SPACING_MM)
    image = SimpleITK.GetImageFromArray(frames)
    image.SetSpacing((0.5, 0.5, 3.0))
    for name in ("volume.nrrd", "volume.mha"):
        SimpleITK.WriteImage(image, str(folder / name))
    places = phantom.points.coordinates[:, ::-1] * (0.5, 0.5, 3.0)
    points = [{"position": place} for place in places.tolist()]
    (folder / "F.mrk.json").write_text(json.dumps({"markups": [{"type": "Fiducial", "controlPoints": points}]}))
    save_series(folder / "series", frames.astype(np.uint16))
    (folder / "series" / "IM0000-4001").rename(folder / "series" / "IM0000")
    save_film(folder / "ultrasound.dcm", colour)
    save_video(folder / "video.mp4", colour, "mpeg4", "yuv420p")
    tifffile.imwrite(folder / "stack.tif", frames)
    channels = np.stack([frames, frames], axis=1)
    tifffile.imwrite(folder / "channels.ome.tif", channels, metadata={"axes": "ZCYX"}, ome=True)
    write_zarr(frames, None, folder / "image.ome.zarr")
    save_frames(phantom.sequence.frames, folder / "frames")
    np.save(folder / "array.npy", frames)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_runs(page, inputs, tmp_path, monkeypatch, capsys):
    """With the smallest of settings and without the report, since only that it runs is claimed."""
    for entry in inputs.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fewpoint.methods.resolve.preset", lambda name, device: TINY)
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)
    commands = find_commands(page)
    assert commands
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "pip":
            assert arguments[1][len("fewpoint[") : -1] in list_extras()
            continue
        assert program == "fewpoint"
        assert (run(arguments), capsys.readouterr().err.count("fewpoint: ")) == (0, 0), command


def test_the_box_of_the_page_about_objects_holds_the_points_of_its_object_on_that_frame():
    text = (ROOT / "docs" / "how-to" / "objects.md").read_text(encoding="utf-8")
    name, *box = re.search(r"--largest-box (\w+)=([\d,]+)", text).groups()
    frame, top, left, bottom, right = map(int, box[0].split(","))
    points = re.findall(rf"^{frame},(\d+),(\d+),{name}$", text, re.MULTILINE)
    assert points and all(top <= int(y) < bottom and left <= int(x) < right for y, x in points)


def test_the_pages_name_every_file_that_formats_write():
    text = (ROOT / "docs" / "how-to" / "convert.md").read_text(encoding="utf-8")
    for name, file in FILES.items():
        assert f"| `{name}` | `{file}" in text
    assert FILM_FILE in text


def test_extras_are_those_of_the_package():
    from fewpoint.io.extras import EXTRAS

    assert set(EXTRAS) == list_extras() - {"docs", "nightly", "test"}


def list_extras() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
