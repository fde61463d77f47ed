"""NIfTI volumes are read exactly and masks go back into the very same grid."""

import gzip

import nibabel
import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.io.images import hash_sequence, read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.nifti import write_nifti
from fewpoint.io.points import read_points
from real_data import data_root
from volumes import AFFINE, FLIPS, POINT_RAS, POINT_VOXEL, SHAPE, VOXELS, reorient, save_nifti, tilt

MASK = np.random.default_rng(6).random((5, 6, 7)) < 0.3  # frames of the volume cut along its last axis


def assert_refused(path, *fragments):
    with pytest.raises(InputError) as caught:
        read_sequence(path)
    assert "\n" not in str(caught.value)
    for fragment in (path.name, *fragments):
        assert fragment in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("name", ["v.nii", "v.nii.gz", "V.NII.GZ"])
def test_voxels_of_any_type_are_read_exactly(tmp_path, dtype, name):
    path = save_nifti(tmp_path / name, VOXELS.astype(dtype))
    sequence = read_sequence(path)
    np.testing.assert_array_equal(sequence.frames[..., 0], VOXELS.T)
    assert sequence.names[:2] == ("0000", "0001")
    np.testing.assert_allclose(sequence.geometry.affine, AFFINE, rtol=1e-15)


def test_signed_and_scaled_voxels_keep_their_units(tmp_path):
    image = nibabel.Nifti1Image(VOXELS - 100, AFFINE)
    image.header.set_slope_inter(0.5, -1000)
    nibabel.save(image, tmp_path / "v.nii")
    np.testing.assert_array_equal(read_sequence(tmp_path / "v.nii").frames[..., 0], (VOXELS.T - 100) / 2 - 1000)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [("auto", VOXELS.T), ("2", VOXELS.T), ("axial", VOXELS.T), ("coronal", np.transpose(VOXELS, (1, 2, 0)))],
)
def test_the_axis_can_be_chosen(tmp_path, axis, expected):
    sequence = read_sequence(save_nifti(tmp_path / "v.nii"), axis=axis)
    np.testing.assert_array_equal(sequence.frames[..., 0], expected)


def test_an_axis_for_frames_without_any_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4, 5), np.uint8))
    with pytest.raises(InputError, match="--axis axial needs a volume"):
        read_sequence(tmp_path / "a.npy", axis="axial")


def test_one_slice_over_time_gives_its_times_and_a_fourth_axis_else_channels(tmp_path):
    film = read_sequence(save_nifti(tmp_path / "film.nii", VOXELS[:, :, np.newaxis]))
    np.testing.assert_array_equal(film.frames[..., 0], VOXELS.T)
    assert film.geometry.over_time and film.source.notes == ()
    several = np.stack([VOXELS, VOXELS + 1], axis=-1)
    channels = read_sequence(save_nifti(tmp_path / "channels.nii", several))
    np.testing.assert_array_equal(channels.frames, several.transpose(2, 1, 0, 3))
    assert not channels.geometry.over_time
    assert channels.source.notes == ("its 2 time points are taken as channels of one volume",)


def test_colour_voxels_are_three_channels(tmp_path):
    colours = np.stack([VOXELS, VOXELS + 1, VOXELS + 2], axis=-1).astype(np.uint8)
    packed = colours.view([("R", "u1"), ("G", "u1"), ("B", "u1")])[..., 0]
    path = save_nifti(tmp_path / "v.nii", packed)
    np.testing.assert_array_equal(read_sequence(path).frames, colours.transpose(2, 1, 0, 3))


def test_a_series_of_many_volumes_is_refused(tmp_path):
    assert_refused(save_nifti(tmp_path / "v.nii", np.zeros((4, 4, 4, 40), np.uint8)), "(4, 4, 4, 40)", "one volume")


def test_values_on_a_surface_are_refused_as_such_not_as_a_damaged_file(tmp_path):
    axes = (
        nibabel.cifti2.ScalarAxis(["thickness"]),
        nibabel.cifti2.BrainModelAxis.from_surface([0, 1], 4, "cortex_left"),
    )
    nibabel.Cifti2Image(np.zeros((1, 2), np.float32), axes).to_filename(tmp_path / "thickness.dscalar.nii")
    assert_refused(tmp_path / "thickness.dscalar.nii", "must hold voxels", "Cifti2Image")


@pytest.mark.parametrize("forms", ["sform", "qform", "both", "neither"])
def test_masks_have_the_very_header_of_their_volume(tmp_path, forms):
    affine = tilt(AFFINE)
    image = nibabel.Nifti1Image(VOXELS, None)
    image.header.set_xyzt_units("mm", "sec")
    image.header["descrip"] = b"from the scanner"
    if forms in ("sform", "both"):
        image.header.set_sform(affine, code=2)
    if forms in ("qform", "both"):
        image.header.set_qform(affine, code=1)
    nibabel.save(image, tmp_path / "v.nii.gz")
    source = read_sequence(tmp_path / "v.nii.gz").source
    write_nifti(MASK.astype(np.uint8), source, tmp_path / "m.nii.gz")
    before, after = nibabel.load(tmp_path / "v.nii.gz"), nibabel.load(tmp_path / "m.nii.gz")
    assert after.get_data_dtype() == np.uint8
    assert after.shape == before.shape
    np.testing.assert_array_equal(after.affine, before.affine)
    for field in ("pixdim", "qform_code", "sform_code", "quatern_b", "qoffset_x", "srow_x", "srow_z", "xyzt_units"):
        assert after.header[field].tobytes() == before.header[field].tobytes(), field
    np.testing.assert_array_equal(np.asarray(after.dataobj), MASK.T)


@pytest.mark.parametrize("shape", [(7, 6), (7, 6, 1), (7, 6, 1, 5), (7, 6, 5, 1), (7, 6, 5, 2)])
def test_masks_have_the_shape_of_their_volume_but_for_channels(tmp_path, shape):
    path = save_nifti(tmp_path / "v.nii", np.zeros(shape, np.uint8))
    sequence = read_sequence(path)
    masks = np.random.default_rng(0).random(sequence.shape[:3]) < 0.5
    write_nifti(masks.astype(np.uint8), sequence.source, tmp_path / "m.nii")
    assert nibabel.load(tmp_path / "m.nii").shape == (shape if shape != (7, 6, 5, 2) else (7, 6, 5))
    np.testing.assert_array_equal(read_masks(tmp_path / "m.nii"), masks)


def test_big_endian_and_nifti_2_files_give_masks_of_their_kind(tmp_path):
    header = nibabel.Nifti1Header(endianness=">")
    nibabel.save(nibabel.Nifti1Image(VOXELS, AFFINE, header), tmp_path / "big.nii")
    nibabel.save(nibabel.Nifti2Image(VOXELS, AFFINE), tmp_path / "two.nii")
    for name in ("big.nii", "two.nii"):
        sequence = read_sequence(tmp_path / name)
        assert sequence.frames.dtype.isnative
        write_nifti(MASK.astype(np.float32), sequence.source, tmp_path / "m.nii")
        before, after = nibabel.load(tmp_path / name), nibabel.load(tmp_path / "m.nii")
        assert type(after) is type(before)
        np.testing.assert_array_equal(after.affine, before.affine)
        np.testing.assert_array_equal(after.get_fdata(), MASK.T)


def test_masks_without_a_volume_are_a_millimetre_apart(tmp_path):
    write_nifti(MASK.astype(np.uint8), None, tmp_path / "m.nii.gz")
    np.testing.assert_array_equal(nibabel.load(tmp_path / "m.nii.gz").affine, np.eye(4))
    np.testing.assert_array_equal(read_masks(tmp_path / "m.nii.gz"), MASK)


def test_the_same_masks_give_the_same_bytes(tmp_path):
    for name in ("a.nii.gz", "b.nii.gz"):
        write_nifti(MASK.astype(np.uint8), None, tmp_path / name)
    assert (tmp_path / "a.nii.gz").read_bytes() == (tmp_path / "b.nii.gz").read_bytes()


@pytest.mark.parametrize("tilted", [False, True], ids=["straight", "oblique"])
def test_a_point_in_millimetres_hits_one_voxel_and_masks_agree_in_every_orientation(tmp_path, tilted):
    """Whatever the order of storage, what is marked at the point lies in the same place of the patient."""
    affine = tilt(AFFINE) if tilted else AFFINE
    x, y, z = (affine @ [*POINT_VOXEL, 1])[:3] + 0.3
    tables = {"ras": f"ras_x,ras_y,ras_z\n{x},{y},{z}\n", "lps": f"lps_x,lps_y,lps_z\n{-x},{-y},{z}\n"}
    marked = np.zeros(SHAPE, bool)
    marked[POINT_VOXEL] = True
    for name, flips in FLIPS.items():
        path = save_nifti(tmp_path / f"{name}.nii.gz", *reorient(VOXELS, affine, flips))
        sequence = read_sequence(path)
        for system, text in tables.items():
            (tmp_path / "p.csv").write_text(text)
            points = read_points(tmp_path / "p.csv", sequence)
            masks = np.zeros(sequence.shape[:3], np.uint8)
            masks[tuple(points.coordinates.T)] = 1
            write_nifti(masks, sequence.source, tmp_path / f"{system}.nii.gz")
            written = nibabel.as_closest_canonical(nibabel.load(tmp_path / f"{system}.nii.gz"))
            np.testing.assert_array_equal(np.asarray(written.dataobj).astype(bool), marked)
            np.testing.assert_allclose(written.affine, affine, atol=1e-5)  # NIfTI stores 32 bits


def test_the_test_s_own_point_is_where_it_says():
    np.testing.assert_array_equal(AFFINE @ [*POINT_VOXEL, 1], [*POINT_RAS, 1])


def test_the_hash_tells_places_apart(tmp_path):
    one = read_sequence(save_nifti(tmp_path / "a.nii"))
    moved = read_sequence(save_nifti(tmp_path / "b.nii", affine=tilt(AFFINE)))
    assert hash_sequence(one) != hash_sequence(moved)
    assert hash_sequence(one) == hash_sequence(read_sequence(tmp_path / "a.nii"))


@pytest.mark.usefixtures("trusting")
def test_a_volume_cut_short_or_damaged_is_refused(tmp_path):
    for name in ("v.nii", "v.nii.gz"):
        path = save_nifti(tmp_path / name)
        data = path.read_bytes()
        for length in range(0, len(data), 29):
            path.write_bytes(data[:length])
            assert_refused(path)
    broken = bytearray(data)
    broken[-6] ^= 1  # in the sum over the whole stream
    path.write_bytes(broken)
    assert_refused(path)


def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path):
    path = save_nifti(tmp_path / "v.nii")
    header = nibabel.load(path).header
    header.set_data_shape((30000, 30000, 30000))
    for name, write in (("v.nii", open), ("v.nii.gz", gzip.open)):
        with write(tmp_path / name, "wb") as stream:
            stream.write(header.binaryblock)
        assert_refused(tmp_path / name, "more than a file of its size can hold")


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_an_affine_that_is_none_is_refused(tmp_path, value):
    image = nibabel.Nifti1Image(VOXELS, None)
    image.header["sform_code"] = 1
    image.header["srow_x"], image.header["srow_y"], image.header["srow_z"] = value, value, value
    nibabel.save(image, tmp_path / "v.nii")
    assert_refused(tmp_path / "v.nii", "affine")


@pytest.mark.skipif(data_root() is None, reason="the real sequences are not here (FEWPOINT_DATA)")
def test_every_point_of_a_real_volume_lies_on_its_object():
    folder = data_root() / "nifti" / "brats_flair_volume1"
    sequence, truth = read_sequence(folder / "flair.nii.gz"), read_masks(folder / "labels.nii.gz")
    points = read_points(folder / "points_ijk.csv", sequence)
    assert truth.shape == sequence.shape[:3] == (155, 240, 240)
    assert truth[tuple(points.coordinates.T)].all()


@pytest.mark.skipif(data_root() is None, reason="the real sequences are not here (FEWPOINT_DATA)")
@pytest.mark.parametrize("orientation", ["RAS", "LPS", "LAS", "PIR"])
def test_a_real_volume_gives_the_same_masks_in_every_orientation(tmp_path, orientation):
    """Stored anew by nibabel: points in millimetres hit the object, and what is written goes back voxel by voxel."""
    folder = data_root() / "nifti" / "brats_flair_volume1"
    labels = nibabel.load(folder / "labels.nii.gz")
    turn = nibabel.orientations.ornt_transform(
        nibabel.io_orientation(labels.affine), nibabel.orientations.axcodes2ornt(orientation)
    )
    path = tmp_path / "turned.nii.gz"
    nibabel.save(labels.as_reoriented(turn).slicer[::2], path)
    places = np.loadtxt(folder / "points_ijk.csv", delimiter=",", skiprows=1) @ labels.affine[:3, :3].T
    rows = [",".join(map(str, row)) for row in (places + labels.affine[:3, 3]).tolist()]
    (tmp_path / "p.csv").write_text("\n".join(["ras_x,ras_y,ras_z", *rows[::7]]))
    sequence, masks = read_sequence(path), read_masks(path)
    points = read_points(tmp_path / "p.csv", sequence)
    assert masks[tuple(points.coordinates.T)].mean() > 0.8  # every second plane is left out, and with it some points
    write_nifti(masks.astype(np.uint8), sequence.source, tmp_path / "m.nii.gz")
    back = nibabel.load(tmp_path / "m.nii.gz")
    np.testing.assert_array_equal(back.affine, nibabel.load(path).affine)
    np.testing.assert_array_equal(np.asarray(back.dataobj) > 0, nibabel.load(path).get_fdata() > 0)
