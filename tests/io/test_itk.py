"""NRRD and MetaImage volumes are read where SimpleITK sees them, and masks go back into the same grid."""

from contextlib import suppress

import nibabel
import numpy as np
import pytest
import SimpleITK

from fewpoint.core import Geometry, Source
from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence
from fewpoint.io.itk import write_meta
from fewpoint.io.nifti import write_nifti
from fewpoint.io.nrrd import write_nrrd
from volumes import AFFINE, SHAPE, VOXELS, reorient, save_nifti, tilt

WRITERS = {".nrrd": write_nrrd, ".mha": write_meta, ".nii.gz": write_nifti}
MASK = np.random.default_rng(6).random(SHAPE[::-1]) < 0.3


def make_image(voxels: np.ndarray = VOXELS, **changes) -> SimpleITK.Image:
    image = SimpleITK.GetImageFromArray(voxels.T, **changes)
    image.SetSpacing((0.7, 1.3, 4.1))
    image.SetOrigin((1.1, -2.2, 3.3))
    image.SetDirection(np.linalg.qr(tilt(AFFINE)[:3, :3])[0].ravel().tolist())
    return image


def save(path, image):
    SimpleITK.WriteImage(image, str(path), useCompression="z" in path.stem)
    return path


@pytest.mark.parametrize("name", ["v.nrrd", "z.nrrd", "v.nhdr", "v.mha", "z.mha", "v.mhd", "z.mhd"])
def test_volumes_are_read_where_simpleitk_sees_them(tmp_path, name):
    image = make_image()
    sequence = read_sequence(save(tmp_path / name, image), axis="2")
    np.testing.assert_array_equal(sequence.frames[..., 0], VOXELS.T)
    for voxel in [(0, 0, 0), (3, 1, 2), (6, 5, 4)]:
        left, posterior, superior = image.TransformIndexToPhysicalPoint(voxel)
        place = sequence.geometry.affine @ [*voxel, 1]
        np.testing.assert_allclose(place[:3], (-left, -posterior, superior), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float64])
def test_voxels_of_any_type_are_read_exactly(tmp_path, dtype):
    for name in ("v.nrrd", "v.mha"):
        path = save(tmp_path / name, make_image((VOXELS - 90 * (dtype == np.int16)).astype(dtype)))
        np.testing.assert_array_equal(read_sequence(path).frames[..., 0], VOXELS.T - 90 * (dtype == np.int16))


@pytest.mark.parametrize("suffix", [".nrrd", ".mha"])
def test_masks_and_probabilities_have_the_very_grid_of_their_volume(tmp_path, suffix):
    source = read_sequence(save(tmp_path / f"v{suffix}", make_image()), axis="1").source
    frames = source.geometry.to_frames(MASK.T)
    for values in (frames.astype(np.uint8), frames.astype(np.float32) / 3):
        WRITERS[suffix](values, source, tmp_path / f"m{suffix}")
        before, after = (SimpleITK.ReadImage(str(tmp_path / f"{stem}{suffix}")) for stem in "vm")
        assert after.GetSpacing() == before.GetSpacing()
        assert after.GetOrigin() == before.GetOrigin()
        assert after.GetDirection() == before.GetDirection()
        assert after.GetSize() == before.GetSize()
        np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(after), source.geometry.to_stored(values).T)
        assert SimpleITK.GetArrayFromImage(after).dtype == values.dtype


def test_an_nrrd_in_ras_keeps_its_own_digits(tmp_path):
    path = save(tmp_path / "v.nrrd", make_image())
    header, _, data = path.read_bytes().partition(b"\n\n")
    lines = [line for line in header.decode().splitlines() if not line.startswith(("space", "kinds"))]
    own = ["space: right-anterior-superior", "space directions: (0.1,0,0) (0,3.3000000000000003,0) (0,0,-7)"]
    own.append("space origin: (1e-3,2,3)")
    path.write_bytes("\n".join([*lines, *own]).encode() + b"\n\n" + data)
    sequence = read_sequence(path)
    np.testing.assert_allclose(sequence.geometry.affine[:3, :3], np.diag([0.1, 3.3, -7]))
    masks = sequence.geometry.to_frames(MASK.T)
    write_nrrd(masks.astype(np.uint8), sequence.source, tmp_path / "m.nrrd")
    written = (tmp_path / "m.nrrd").read_bytes().partition(b"\n\n")[0].decode().splitlines()
    assert set(own) <= set(written)
    np.testing.assert_array_equal(read_sequence(tmp_path / "m.nrrd").frames[..., 0], masks)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("flips", [(1, 1, 1), (-1, -1, 1), (-1, 1, -1)])
def test_every_format_puts_masks_where_the_volume_is(tmp_path, suffix, flips):
    """A NIfTI in three orientations, oblique: read back by nibabel or SimpleITK, each voxel is in its place."""
    voxels, affine = reorient(VOXELS, tilt(AFFINE), flips)
    source = read_sequence(save_nifti(tmp_path / "v.nii", voxels, affine)).source
    WRITERS[suffix](MASK.astype(np.uint8), source, tmp_path / f"m{suffix}")
    image = SimpleITK.ReadImage(str(tmp_path / f"m{suffix}"))
    for index in np.argwhere(MASK)[:20, ::-1].tolist():
        assert image[index] == 1
        place = np.array(image.TransformIndexToPhysicalPoint(index)) * (-1, -1, 1)
        np.testing.assert_allclose(place, (affine @ [*index, 1])[:3], atol=1e-4)  # NIfTI stores 32 bits
    assert SimpleITK.GetArrayFromImage(image).sum() == MASK.sum()


def test_colour_and_films_are_told_from_volumes(tmp_path):
    colours = np.stack([VOXELS.T] * 3, axis=-1).astype(np.uint8)
    image = SimpleITK.GetImageFromArray(colours, isVector=True)
    np.testing.assert_array_equal(read_sequence(save(tmp_path / "c.mha", image)).frames, colours)
    picture = SimpleITK.GetImageFromArray(VOXELS[:, :, 0].T)
    assert read_sequence(save(tmp_path / "p.mha", picture)).shape == (1, 6, 7, 1)
    film = SimpleITK.GetImageFromArray(VOXELS.T[:, np.newaxis], isVector=False)
    sequence = read_sequence(save(tmp_path / "f.nrrd", film))
    assert (sequence.shape, sequence.geometry.over_time) == ((5, 6, 7, 1), True)
    both = SimpleITK.GetImageFromArray(np.zeros((2, 3, 4, 5), np.uint8), isVector=False)
    with pytest.raises(InputError, match="one volume or one video"):
        read_sequence(save(tmp_path / "b.nrrd", both))


@pytest.mark.parametrize("name", ["z.nrrd", "v.nrrd", "z.mha", "v.mha"])
@pytest.mark.usefixtures("trusting")
def test_a_volume_cut_short_is_refused_in_one_line_or_whole(tmp_path, name, capfd):
    path = save(tmp_path / name, make_image())
    data = path.read_bytes()
    for length in range(0, len(data) - 8, 23):
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match=name) as caught:
            read_sequence(path)
        assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("NDims = 3", "NDims = 9999"),
        ("NDims = 3", "NDims = 0"),
        ("NDims = 3", "NDims ="),
        ("NDims = 3", "NoDims = 3"),
        ("TransformMatrix = ", "TransformMatrix = 1 "),
        ("DimSize = ", "DimSize = 7 "),
        ("DimSize = ", "Dims = "),
        ("ElementSpacing = ", "ElementSpacing = " + "1 " * 200),
        ("ObjectType = Image", "ObjectType = Image" + "e" * 10_000),
    ],
)
def test_counts_that_would_crash_itk_do_not_end_this_process(tmp_path, line, wrong):
    path = save(tmp_path / "v.mha", make_image())
    assert line.encode() in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(line.encode(), wrong.encode(), 1))
    with suppress(InputError):  # some are merely taken for other numbers
        read_sequence(path)


def test_missing_voxels_and_absurd_sizes_are_refused(tmp_path):
    path = save(tmp_path / "v.mhd", make_image())
    (tmp_path / "v.raw").unlink()
    with pytest.raises(InputError, match=r"v\.mhd"):
        read_sequence(path)
    for name in ("a.mhd", "a.mha"):
        text = "ObjectType = Image\nNDims = 3\nDimSize = 40000 40000 40000\nElementType = MET_SHORT\n"
        (tmp_path / name).write_text(text + f"ElementDataFile = {'LOCAL' if name == 'a.mha' else 'v.raw'}\n")
        with pytest.raises(InputError, match="more than a file of its size can hold"):
            read_sequence(tmp_path / name)


def test_masks_without_a_place_are_a_millimetre_apart(tmp_path):
    for suffix in (".nrrd", ".mha"):
        WRITERS[suffix](MASK.astype(np.uint8), None, tmp_path / f"m{suffix}")
        image = SimpleITK.ReadImage(str(tmp_path / f"m{suffix}"))
        assert image.GetSpacing() == (1, 1, 1)
        np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(image), MASK)


def test_a_sheared_volume_keeps_its_shear(tmp_path):
    """A tilted gantry: slices shifted against each other."""
    affine = AFFINE.copy()
    affine[1, 2] = 0.8
    source = Source("", "dicom", Geometry.from_affine(affine, SHAPE))
    for suffix, write in WRITERS.items():
        write(MASK.astype(np.uint8), source, tmp_path / f"m{suffix}")
    np.testing.assert_allclose(nibabel.load(tmp_path / "m.nii.gz").affine, affine, atol=1e-6)
    np.testing.assert_allclose(read_sequence(tmp_path / "m.mha").geometry.affine, affine, atol=1e-6)
    np.testing.assert_allclose(read_sequence(tmp_path / "m.nrrd").geometry.affine, affine, atol=1e-6)
