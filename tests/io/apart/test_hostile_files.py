"""Files that were made to do harm: whatever they try, reading them gives one line and nothing else."""

import gzip
import json
import os
import struct
from pathlib import Path

import nibabel
import numpy as np
import pydicom
import pytest
import SimpleITK
import tifffile
from pydicom.encaps import encapsulate
from pydicom.uid import JPEGLSLossless

from dicom_series import SERIES, SLICES, make_image, save_film, save_series
from fewpoint.cli.main import run as run_command
from fewpoint.errors import InputError
from fewpoint.io import video
from fewpoint.io.apart.calls import WITHIN
from fewpoint.io.apart.forker import TRUST
from fewpoint.io.images import read_sequence
from videos import COLOUR, save_video

SECRET = bytes(range(65, 91)) * 100
SIDE = 32
PIXELS = (np.arange(4 * SIDE * SIDE) % 64).astype(np.uint8).reshape(4, SIDE, SIDE)


@pytest.fixture
def secret(tmp_path):
    """A file beside the folder that inputs lie in."""
    path = tmp_path / "outside" / "secret.raw"
    path.parent.mkdir()
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "inside"
    path.mkdir()
    return path


def assert_refused(path: Path, fragment: str = "") -> None:
    with pytest.raises(InputError) as caught:
        read_sequence(path)
    text = str(caught.value)
    assert "\n" not in text and path.name in text and fragment in text


META = "ObjectType = Image\nNDims = 3\n{extra}DimSize = 8 8 2\nElementType = MET_UCHAR\n"
NRRD = "NRRD0004\n{extra}type: uint8\ndimension: 3\nsizes: 8 8 2\nencoding: raw\n"


@pytest.mark.parametrize("name", ["{secret}", "../outside/secret.raw"], ids=["absolute", "relative"])
@pytest.mark.parametrize(
    ("file", "header"),
    [
        ("v.mha", META + "ElementDataFile = {name}\n"),
        ("v.mha", META + "ElementDataFile : {name}\n"),
        ("v.mhd", META + "ElementDataFile = {name}\n"),
        ("v.mha", META + "ElementDataFile = LIST\n{name}\n{name}\n"),
        ("v.nrrd", NRRD + "data file: {name}\n\n"),
        ("v.nhdr", NRRD + "datafile: {name}\n\n"),
        ("v.nhdr", NRRD + "data file: LIST\n{name}\n{name}\n"),
    ],
    ids=["mha", "mha-colon", "mhd", "mha-list", "nrrd", "nhdr", "nhdr-list"],
)
def test_a_header_that_names_a_file_elsewhere_does_not_get_it(folder, secret, file, header, name):
    (folder / file).write_text(header.format(name=name.format(secret=secret), extra=""))
    assert_refused(folder / file)


@pytest.mark.parametrize("trusting", [False, True], ids=["apart", "trusting"])
@pytest.mark.parametrize(
    ("file", "header"),
    [
        ("v.mhd", META + "ElementDataFile = {name}\n"),
        ("v.mhd", META + "elementdatafile: {name}\n"),
        ("v.mhd", META + "ElementDataFile = LIST\n{name}\n{name}\n"),
        ("v.mhd", META + "ElementDataFile = secret%d.raw 1 2 1\n"),
        ("v.nhdr", NRRD + "data file: {name}\n\n"),
        ("v.nhdr", NRRD + "datafile: {name}\n\n"),
        ("v.nhdr", NRRD + "data file: LIST\n{name}\n{name}\n"),
        ("v.nhdr", NRRD + "data file: secret%d.raw 1 2 1\n\n"),
    ],
    ids=["mhd", "mhd-colon", "mhd-list", "mhd-pattern", "nhdr", "nhdr-one-word", "nhdr-list", "nhdr-pattern"],
)
def test_a_link_beside_a_header_does_not_give_it_what_lies_elsewhere(
    folder, secret, monkeypatch, capsys, file, header, trusting
):
    if trusting:
        monkeypatch.setenv(TRUST, "1")
    for name in ("secret.raw", "secret1.raw", "secret2.raw"):
        (folder / name).symlink_to(secret)
    (folder / file).write_text(header.format(name="secret.raw", extra=""))
    assert_refused(folder / file)
    (folder / "points.csv").write_text("frame,y,x\n0,2,2\n")
    given = ["segment", folder / file, "--points", folder / "points.csv", "--out", folder / "run", "--device", "cpu"]
    assert run_command(list(map(str, given))) == 1
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1 and file in told


@pytest.mark.parametrize("kind", ["link", "plain"])
def test_data_of_a_header_may_be_a_link_within_its_folder(folder, kind):
    (folder / "data.raw").write_bytes(SECRET)
    name = "data.raw"
    if kind == "link":
        (folder / "link.raw").symlink_to("data.raw")
        name = "link.raw"
    (folder / "v.mhd").write_text(META.format(extra="") + f"ElementDataFile = {name}\n")
    (folder / "v.nhdr").write_text(NRRD.format(extra="") + f"data file: {name}\n\n")
    for file in ("v.mhd", "v.nhdr"):
        assert read_sequence(folder / file).frames.tobytes() == SECRET[:128]


@pytest.mark.parametrize("name", ["fifo", "sub/data.raw", "gone.raw", ""])
def test_data_of_a_header_is_a_regular_file_of_its_own_folder(folder, monkeypatch, name):
    os.mkfifo(folder / "fifo")
    (folder / "sub").mkdir()
    (folder / "sub" / "data.raw").write_bytes(SECRET)
    (folder / "v.nhdr").write_text(NRRD.format(extra="") + f"data file: {name}\n\n")
    for trust in ("0", "1"):
        monkeypatch.setenv(TRUST, trust)
        assert_refused(folder / "v.nhdr", "its data must lie next to it")


@pytest.mark.parametrize("extra", ["Comment = " + "x" * 70_000 + "\n", "Comment = x\n" * 7000], ids=["line", "lines"])
def test_a_long_header_hides_no_name(folder, secret, extra):
    (folder / "v.mha").write_text(META.format(extra=extra) + f"ElementDataFile = {secret}\n")
    assert_refused(folder / "v.mha")


@pytest.mark.parametrize(
    "unit",
    [
        "<UUID FileName='{name}'>urn:uuid:1</UUID>",
        '<UUID FileName="&#46;&#46;/outside/other.ome.tif">urn:uuid:1</UUID>',
    ],
    ids=["single-quotes", "entities"],
)
@pytest.mark.parametrize("inner", [False, True], ids=["file", "folder-of-frames"])
def test_a_tiff_that_names_frames_elsewhere_does_not_get_them(folder, secret, unit, inner):
    other = secret.parent / "other.ome.tif"
    tifffile.imwrite(other, np.full((SIDE, SIDE), 77, np.uint8))
    place = folder / "frames" / "0.tif" if inner else folder / "stack.ome.tif"
    place.parent.mkdir(exist_ok=True)
    tifffile.imwrite(place, PIXELS[:1], metadata={"axes": "ZYX"}, ome=True)
    with tifffile.TiffFile(place) as stored:
        text = stored.ome_metadata
    name = "../outside/other.ome.tif" if not inner else "../../outside/other.ome.tif"
    start = text.index("<TiffData")
    end = text.index(">", start)
    text = text[:start] + "<TiffData IFD='0' PlaneCount='1'>" + unit.format(name=name) + "</TiffData>" + text[end + 1 :]
    tifffile.imwrite(place, PIXELS[:1], description=text.encode(), metadata=None)
    try:
        read = read_sequence(place if not inner else place.parent).frames
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert not (read == 77).any()


def test_a_series_beside_links_that_lead_out_of_the_root_does_not_follow_them(folder, secret, monkeypatch):
    monkeypatch.setenv(WITHIN, str(folder))
    save_series(folder / "series", SLICES[:2])
    other = save_series(secret.parent / "series", SLICES[2:3]) / "IM0000-4001"
    (folder / "series" / "link").symlink_to(other)
    first = min((folder / "series").glob("IM*"))
    with pytest.raises(InputError, match="link"):
        read_sequence(first)


def test_links_in_a_folder_of_ones_own_are_followed(folder, secret):
    np.save(secret.parent / "a.npy", PIXELS)
    (folder / "a.npy").symlink_to(secret.parent / "a.npy")
    assert np.array_equal(read_sequence(folder / "a.npy").frames[..., 0], PIXELS)
    save_series(secret.parent / "series")
    (folder / "series").mkdir()
    for file in (secret.parent / "series").iterdir():
        (folder / "series" / file.name).symlink_to(file)
    assert len(read_sequence(folder / "series")) == len(SLICES)


@pytest.mark.parametrize("text", ["#EXTM3U\nfile://{secret}\n", "ffconcat version 1.0\nfile {secret}\n"])
def test_a_list_of_files_is_no_video(folder, secret, text):
    (folder / "film.mp4").write_text(text.format(secret=secret))
    assert_refused(folder / "film.mp4")


def test_a_zarr_with_pickled_objects_runs_nothing(folder):
    """The filters that ran code with numcodecs below 0.16.6."""

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(folder / "sprung"),)

    import pickle

    array = folder / "a.zarr"
    array.mkdir()
    filters = [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 4}]
    told = {"zarr_format": 2, "shape": [2, 4, 4], "chunks": [2, 4, 4], "dtype": "|O", "order": "C", "fill_value": None}
    (array / ".zarray").write_text(json.dumps({**told, "compressor": None, "filters": filters}))
    (array / "0.0.0").write_bytes(pickle.dumps(Trap()))
    assert_refused(array)
    assert not (folder / "sprung").exists()


@pytest.mark.parametrize(
    "header",
    [
        META.format(extra="") + "ElementDataFile = %s%n%s%n%s%n\n",
        META.format(extra="Comment = NDims = 2\n").replace("NDims = 3", "NDims : 9") + "ElementDataFile = LOCAL\n",
        "Comment = x\n"
        + META.format(extra="").replace("DimSize = 8 8 2", "DimSize = " + "8 " * 4000)
        + "ElementDataFile = LOCAL\n",
    ],
    ids=["format-string", "counts", "many-sides"],
)
def test_a_metaimage_that_crashes_its_library_is_refused(folder, header):
    (folder / "v.mha").write_bytes(header.encode() + bytes(128))
    assert_refused(folder / "v.mha")


@pytest.mark.parametrize(
    "data",
    [
        NRRD.format(extra="content: " + "x" * 3000 + "\n").encode() + b"\n",
        NRRD.format(extra="").replace("raw", "ascii").encode() + b"\n" + bytes(range(128, 256)) * 4000,
    ],
    ids=["long-line", "ascii-over-binary"],
)
def test_an_nrrd_that_overflows_its_library_is_refused(folder, data):
    (folder / "v.nrrd").write_bytes(data)
    assert_refused(folder / "v.nrrd")


def test_a_jpeg_ls_image_of_wrong_sizes_is_refused(folder):
    import imagecodecs

    data = bytearray(imagecodecs.jpegls_encode(np.ascontiguousarray(SLICES[0])))
    sizes = data.index(b"\xff\xf7") + 5
    data[sizes : sizes + 4] = struct.pack(">HH", 60_000, 60_000)
    image = make_image(SLICES[0], SERIES, 0)
    image.file_meta.TransferSyntaxUID = JPEGLSLossless
    image.PixelData = encapsulate([bytes(data)])
    image["PixelData"].is_undefined_length = True
    image.save_as(folder / "a.dcm", enforce_file_format=True)
    assert_refused(folder / "a.dcm")


def make_packed_nifti(path: Path, **changes: float) -> None:
    """A small file of very many zeros."""
    header = nibabel.Nifti1Header()
    header.set_data_dtype(np.uint8)
    header.set_data_shape((1000, 1000, 1000))
    header.set_slope_inter(2.5, 1)
    for name, value in changes.items():
        header[name] = value
    block = bytearray(header.binaryblock)
    block[344:348] = b"n+1\0"
    many = gzip.compress(bytes(10**7))  # a .gz may have many parts
    path.write_bytes(gzip.compress(bytes(block) + bytes(4)) + 100 * many)


def test_a_small_volume_that_would_be_scaled_to_gigabytes_is_refused(folder):
    make_packed_nifti(folder / "v.nii.gz")
    assert (folder / "v.nii.gz").stat().st_size < 2 * 10**6
    assert_refused(folder / "v.nii.gz")


def test_voxels_said_to_lie_far_behind_the_end_are_refused(folder):
    volume = nibabel.Nifti1Image(PIXELS, np.eye(4))
    block = bytearray(volume.to_bytes())
    block[108:112] = struct.pack("<f", 1e11)
    (folder / "v.nii").write_bytes(bytes(block))
    assert_refused(folder / "v.nii")
    (folder / "v.nii.gz").write_bytes(gzip.compress(bytes(block)))
    assert_refused(folder / "v.nii.gz")


def test_a_dicom_image_of_two_billion_frames_is_refused(folder):
    path = save_film(folder / "a.dcm", COLOUR)
    dataset = pydicom.dcmread(path)
    dataset.NumberOfFrames = 2**31
    dataset.save_as(path)
    assert_refused(path, "frames")


def test_a_zarr_of_chunks_of_one_pixel_is_refused_or_read(folder):
    array = folder / "a.zarr"
    array.mkdir()
    told = {"zarr_format": 2, "shape": [300, 3000, 3000], "chunks": [1, 1, 1], "dtype": "|u1", "order": "C"}
    (array / ".zarray").write_text(json.dumps({**told, "fill_value": 0, "compressor": None, "filters": None}))
    assert_refused(array)


@pytest.mark.usefixtures("trusting")
def test_a_small_film_of_very_many_pixels_is_refused(folder, monkeypatch):
    monkeypatch.setattr(video, "SLACK_BYTES", 2**20)
    monkeypatch.setattr(video, "DENSEST", 200)
    film = np.zeros((60, 320, 480, 3), np.uint8)
    path = save_video(folder / "v.mp4", film, "mpeg4", "yuv420p")
    assert path.stat().st_size * 200 + 2**20 < film.nbytes
    assert_refused(path, "more pixels than")


def test_what_is_neither_a_file_nor_a_folder_is_refused(folder):
    os.mkfifo(folder / "a.npy")
    assert_refused(folder / "a.npy", "must be a file or a folder")


def test_every_kind_of_file_is_read_alike_with_and_without_trust(folder, monkeypatch):
    image = SimpleITK.GetImageFromArray(PIXELS)
    paths = [folder / "a.nii.gz", folder / "a.mha", folder / "a.nrrd", folder / "a.npy", folder / "a.tif"]
    for path in paths[:3]:
        SimpleITK.WriteImage(image, str(path))
    np.save(paths[3], PIXELS)
    tifffile.imwrite(paths[4], PIXELS)
    paths += [save_series(folder / "series"), save_video(folder / "a.mkv", COLOUR), save_film(folder / "b.dcm", COLOUR)]
    apart = [read_sequence(path) for path in paths]
    monkeypatch.setenv("FEWPOINT_TRUST", "1")
    for path, one in zip(paths, apart, strict=True):
        other = read_sequence(path)
        assert np.array_equal(one.frames, other.frames) and one.frames.dtype == other.frames.dtype
        assert one.names == other.names and one.source.header == other.source.header
        if one.geometry is not None:
            assert np.array_equal(one.geometry.affine, other.geometry.affine)
