"""OME-Zarr images are read at their finest level, with their spacing."""

import numpy as np
import pytest
import zarr

from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence

STACK = np.random.default_rng(2).integers(0, 900, (2, 4, 5, 6)).astype(np.uint16)  # c, z, y, x
AXES = [{"name": "c", "type": "channel"}] + [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]


def save_image(path, array=STACK, axes=AXES, scale=(1, 2.0, 0.5, 0.25), version=3):
    group = zarr.open_group(str(path), mode="w", zarr_format=version)
    group.create_array("0", data=array, chunks=array.shape)
    group.create_array("1", data=array[..., ::2, ::2])
    transforms = [{"type": "scale", "scale": list(scale)}]
    datasets = [{"path": "0", "coordinateTransformations": transforms}, {"path": "1"}]
    image = {"axes": axes, "datasets": datasets, "version": "0.4"}
    group.attrs.update(
        {"multiscales": [image]} if version == 2 else {"ome": {"version": "0.5", "multiscales": [image]}}
    )
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_the_finest_level_is_read_with_its_spacing(tmp_path, version):
    sequence = read_sequence(save_image(tmp_path / "a.ome.zarr", version=version))
    np.testing.assert_array_equal(sequence.frames, STACK.transpose(1, 2, 3, 0))
    assert sequence.geometry.spacing_mm == pytest.approx((0.25e-3, 0.5e-3, 2e-3))
    assert not sequence.geometry.over_time


def test_a_film_has_areas_but_no_depth(tmp_path):
    axes = [{"name": "t", "type": "time", "unit": "second"}, *AXES[2:]]
    sequence = read_sequence(save_image(tmp_path / "a.zarr", STACK[0], axes, (1, 0.5, 0.25)))
    assert sequence.geometry.over_time
    assert sequence.shape == (4, 5, 6, 1)


def test_a_plain_array_and_one_without_units_have_no_place(tmp_path):
    zarr.save_array(str(tmp_path / "plain.zarr"), STACK[0])
    plain = read_sequence(tmp_path / "plain.zarr")
    np.testing.assert_array_equal(plain.frames[..., 0], STACK[0])
    assert plain.geometry is None
    axes = [{"name": name} for name in "czyx"]
    assert read_sequence(save_image(tmp_path / "a.zarr", axes=axes)).geometry is None


def test_what_is_no_image_is_refused(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    broken = save_image(tmp_path / "broken.zarr")
    for chunk in (broken / "0" / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(chunk.read_bytes()[:10])
    for name in ("empty.zarr", "group.zarr", "broken.zarr"):
        with pytest.raises(InputError, match=name) as caught:
            read_sequence(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), shape=(10**4, 10**5, 10**5), chunks=(1, 100, 100), dtype="u2")
    with pytest.raises(InputError, match="more than a file of its size can hold"):
        read_sequence(tmp_path / "a.zarr")


@pytest.mark.usefixtures("trusting")
def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    path = save_image(tmp_path / "a.zarr")
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(InputError, match=r"pip install 'fewpoint\[zarr\]'"):
        read_sequence(path)
