"""read_sequence reads every format exactly, and refuses what it cannot read with one line."""

from pathlib import Path

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image

from fewpoint.core import ImageSequence, Reading
from fewpoint.errors import InputError
from fewpoint.io.images import FORMATS, hash_sequence, parse_window, read_sequence
from real_data import data_root
from volumes import AFFINE, VOXELS, save_nifti, tilt

GREY_8 = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)
COLOUR_8 = np.arange(3 * 4 * 5 * 3, dtype=np.uint8).reshape(3, 4, 5, 3)
GREY_16 = (np.arange(3 * 4 * 5, dtype=np.uint16) * 1091).reshape(3, 4, 5)
COLOUR_16 = (np.arange(3 * 4 * 5 * 3, dtype=np.uint16) * 361).reshape(3, 4, 5, 3)


def save_frames(folder: Path, frames: np.ndarray) -> Path:
    """One PNG a frame, 8 or 16 bits, by an encoder that is not the reader's for 8 bits."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, frame in enumerate(frames):
        (folder / f"{index:04d}.png").write_bytes(imagecodecs.png_encode(np.ascontiguousarray(frame)))
    return folder


def with_channels(frames: np.ndarray) -> np.ndarray:
    return frames if frames.ndim == 4 else frames[..., np.newaxis]


def assert_refused(path: Path, *fragments: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sequence(path)
    message = str(caught.value)
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize(
    "frames", [GREY_8, COLOUR_8, GREY_16, COLOUR_16], ids=["grey8", "colour8", "grey16", "colour16"]
)
def test_png_frames_are_read_exactly(tmp_path, frames):
    sequence = read_sequence(save_frames(tmp_path / "frames", frames))
    assert sequence.frames.dtype == frames.dtype
    np.testing.assert_array_equal(sequence.frames, with_channels(frames))
    assert sequence.names == ("0000", "0001", "0002")


@pytest.mark.parametrize("frames", [COLOUR_8, COLOUR_16], ids=["8bit", "16bit"])
def test_alpha_is_dropped_without_touching_the_colours(tmp_path, frames):
    alpha = np.full((*frames.shape[:3], 1), 7, frames.dtype)
    for name, pixels in [("colour", frames), ("grey", frames[..., :1])]:
        folder = save_frames(tmp_path / name, np.concatenate([pixels, alpha], axis=-1))
        np.testing.assert_array_equal(read_sequence(folder).frames, pixels)


def test_a_palette_png_is_expanded_to_its_colours(tmp_path):
    image = Image.fromarray(np.array([[0, 1], [2, 0]], np.uint8), mode=None).convert("P")
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    image.putdata([0, 1, 2, 0])
    image.save(tmp_path / "0.png")
    expected = [[[10, 20, 30], [40, 50, 60]], [[70, 80, 90], [10, 20, 30]]]
    assert read_sequence(tmp_path).frames[0].tolist() == expected


def test_a_one_bit_png_gives_0_and_255(tmp_path):
    Image.fromarray(np.array([[True, False, True]])).save(tmp_path / "0.png")
    assert read_sequence(tmp_path).frames[0, ..., 0].tolist() == [[255, 0, 255]]


def test_jpeg_frames_match_an_independent_decoder_within_one_grey_level(tmp_path):
    pixels = np.kron(COLOUR_8[0], np.ones((8, 8, 1), np.uint8))
    Image.fromarray(pixels).save(tmp_path / "a.jpg", quality=95)
    expected = imagecodecs.jpeg8_decode((tmp_path / "a.jpg").read_bytes())
    read = read_sequence(tmp_path).frames[0]
    # Decoders may round the inverse transform differently, by one level and, through chroma, its neighbour.
    assert np.abs(read.astype(int) - expected.astype(int)).max() <= 2


def test_frames_are_sorted_naturally_and_other_files_ignored(tmp_path):
    for name in ("f10", "f2", "f1"):
        Image.fromarray(np.full((2, 2), int(name[1:]), np.uint8)).save(tmp_path / f"{name}.png")
    (tmp_path / "points.csv").write_text("frame,y,x\n")
    (tmp_path / ".f3.png").write_bytes(b"hidden")
    (tmp_path / "f4.png").mkdir()
    sequence = read_sequence(tmp_path)
    assert sequence.names == ("f1", "f2", "f10")
    assert sequence.frames[:, 0, 0, 0].tolist() == [1, 2, 10]


def test_capital_extensions_and_tiff_frames_are_read(tmp_path):
    for index, frame in enumerate(GREY_16):
        tifffile.imwrite(tmp_path / f"{index}.TIF", frame, compression="lzw")
    np.testing.assert_array_equal(read_sequence(str(tmp_path)).frames[..., 0], GREY_16)


@pytest.mark.parametrize("grey_first", [True, False])
def test_grey_frames_among_colour_frames_are_widened(tmp_path, grey_first):
    order = ("0.png", "1.png") if grey_first else ("1.png", "0.png")
    Image.fromarray(GREY_8[1]).save(tmp_path / order[0])
    Image.fromarray(COLOUR_8[2]).save(tmp_path / order[1])
    frames = read_sequence(tmp_path).frames
    grey, colour = (0, 1) if grey_first else (1, 0)
    np.testing.assert_array_equal(frames[colour], COLOUR_8[2])
    np.testing.assert_array_equal(frames[grey], np.stack([GREY_8[1]] * 3, axis=-1))


def test_the_dataset_layout_is_read_from_its_subfolder(tmp_path):
    save_frames(tmp_path / "input-frames", GREY_8)
    save_frames(tmp_path / "ground_truth-frames", GREY_8 * 0)
    np.testing.assert_array_equal(read_sequence(tmp_path).frames[..., 0], GREY_8)


@pytest.mark.parametrize("compression", [None, "lzw", "zlib"])
@pytest.mark.parametrize("frames", [GREY_8, COLOUR_16], ids=["grey8", "colour16"])
def test_tiff_stacks_are_read_exactly(tmp_path, frames, compression):
    kind = "rgb" if frames.ndim == 4 else "minisblack"
    tifffile.imwrite(tmp_path / "s.tif", frames, photometric=kind, compression=compression)
    sequence = read_sequence(tmp_path / "s.tif")
    assert sequence.frames.dtype == frames.dtype
    np.testing.assert_array_equal(sequence.frames, with_channels(frames))
    assert sequence.names == ("0000", "0001", "0002")


@pytest.mark.parametrize(
    ("stored", "options", "expected"),
    [
        (GREY_8[0], {}, GREY_8[:1, ..., np.newaxis]),
        (COLOUR_8[0], {"photometric": "rgb"}, COLOUR_8[:1]),
        (np.moveaxis(COLOUR_8, -1, 1), {"photometric": "rgb", "planarconfig": "separate"}, COLOUR_8),
        (np.concatenate([COLOUR_8, COLOUR_8[..., :1]], -1), {"photometric": "rgb"}, COLOUR_8),
        (GREY_8, {"imagej": True, "metadata": {"axes": "TYX"}}, GREY_8[..., np.newaxis]),
        (np.moveaxis(COLOUR_8, -1, 1), {"imagej": True, "metadata": {"axes": "ZCYX"}}, COLOUR_8),
        (GREY_16, {"byteorder": ">", "photometric": "minisblack"}, GREY_16[..., np.newaxis]),
        (GREY_8 > 9, {"photometric": "minisblack"}, np.where(GREY_8 > 9, 255, 0)[..., np.newaxis]),
        (GREY_8 - 30.0, {"photometric": "minisblack"}, GREY_8[..., np.newaxis] - 30.0),
    ],
    ids=[
        "one-page",
        "one-colour-page",
        "planar",
        "alpha",
        "imagej",
        "imagej-channels",
        "big-endian",
        "bool",
        "float64",
    ],
)
def test_tiff_variants_give_frames_height_width_channels(tmp_path, stored, options, expected):
    tifffile.imwrite(tmp_path / "s.tiff", stored, **options)
    sequence = read_sequence(tmp_path / "s.tiff")
    assert sequence.frames.dtype.isnative
    np.testing.assert_array_equal(sequence.frames, expected)


def test_a_palette_tiff_is_expanded_to_its_colours(tmp_path):
    colours = np.zeros((3, 256), np.uint16)
    colours[:, 1] = 10 * 257, 20 * 257, 30 * 257
    tifffile.imwrite(tmp_path / "s.tif", np.array([[0, 1]], np.uint8), photometric="palette", colormap=colours)
    assert read_sequence(tmp_path / "s.tif").frames.tolist() == [[[[0, 0, 0], [10, 20, 30]]]]


@pytest.mark.parametrize("frames", [GREY_8, COLOUR_16, GREY_8.astype(np.float32)], ids=["grey8", "colour16", "float"])
def test_npy_and_npz_are_read_exactly(tmp_path, frames):
    np.save(tmp_path / "a.npy", frames)
    np.savez(tmp_path / "one.npz", anything=frames)
    np.savez_compressed(tmp_path / "named.npz", frames=frames, labels=np.zeros(3))
    for name in ("a.npy", "one.npz", "named.npz"):
        sequence = read_sequence(tmp_path / name)
        assert sequence.frames.dtype == frames.dtype
        np.testing.assert_array_equal(sequence.frames, with_channels(frames))


@pytest.mark.usefixtures("trusting")
def test_a_trusted_npy_is_not_loaded_into_memory(tmp_path):
    np.save(tmp_path / "a.npy", COLOUR_8)
    frames = read_sequence(tmp_path / "a.npy").frames
    while not isinstance(frames, np.memmap):
        assert frames.base is not None, "the frames own their memory"
        frames = frames.base


def test_big_endian_npy_becomes_native(tmp_path):
    np.save(tmp_path / "a.npy", GREY_16.astype(">u2"))
    frames = read_sequence(tmp_path / "a.npy").frames
    assert frames.dtype.isnative
    np.testing.assert_array_equal(frames[..., 0], GREY_16)


def test_a_missing_path_is_named(tmp_path):
    assert_refused(tmp_path / "nowhere", "nowhere does not exist")


def test_a_folder_without_frames_says_what_was_looked_for(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    assert_refused(tmp_path, "no frames in", ".png, .jpg, .jpeg, .tif, .tiff")


def test_an_unsupported_file_lists_what_is_supported(tmp_path):
    (tmp_path / "volume.xyz").write_bytes(b"1234")
    assert_refused(tmp_path / "volume.xyz", "volume.xyz", ".npy, .npz, .nii, .nii.gz, .nrrd")


def test_a_single_picture_asks_for_its_folder(tmp_path):
    save_frames(tmp_path, GREY_8)
    assert_refused(tmp_path / "0000.png", "one frame", "folder")


def test_the_first_two_frames_of_differing_size_are_named(tmp_path):
    save_frames(tmp_path, GREY_8)
    Image.fromarray(np.zeros((4, 6), np.uint8)).save(tmp_path / "0002.png")
    assert_refused(tmp_path, "0000.png is 4 x 5", "0002.png is 4 x 6")


def test_mixed_bit_depths_are_refused(tmp_path):
    save_frames(tmp_path, GREY_8)
    (tmp_path / "0001.png").write_bytes(imagecodecs.png_encode(GREY_16[1]))
    assert_refused(tmp_path, "0000.png is uint8", "0001.png is uint16")


def test_two_files_of_one_stem_are_refused(tmp_path):
    for name in ("a.png", "a.jpg"):
        Image.fromarray(GREY_8[0]).save(tmp_path / name)
    assert_refused(tmp_path, "a.jpg and a.png")


def test_a_stack_inside_a_folder_of_frames_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "stack.tif", GREY_8, photometric="minisblack")
    assert_refused(tmp_path, "stack.tif holds 3", "give that file itself")


def test_tiff_pages_of_differing_size_are_named(tmp_path):
    with tifffile.TiffWriter(tmp_path / "s.tif") as writer:
        for frame in (GREY_8[0], GREY_8[1], GREY_8[2, :3]):
            writer.write(frame, metadata=None)
    assert_refused(tmp_path / "s.tif", "page 0 is uint8 (4, 5)", "page 2 is uint8 (3, 5)")


def test_a_tiff_with_two_frame_axes_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "s.tif", np.zeros((2, 3, 4, 5), np.uint8), photometric="minisblack")
    assert_refused(tmp_path / "s.tif", "one stack", "(2, 3, 4, 5)")


def test_several_unnamed_arrays_are_named_in_the_error(tmp_path):
    np.savez(tmp_path / "a.npz", left=GREY_8, right=GREY_8)
    assert_refused(tmp_path / "a.npz", "left, right", "frames")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_python_objects_are_not_loaded(tmp_path, name):
    objects = np.array([{"a": 1}], dtype=object)
    np.save(tmp_path / name, objects) if name.endswith("npy") else np.savez(tmp_path / name, objects)
    assert_refused(tmp_path / name, name, "numeric", "Python objects")


@pytest.mark.parametrize(
    ("array", "fragment"),
    [
        (np.zeros((4, 5), np.uint8), "(T, H, W)"),
        (np.zeros((0, 4, 5), np.uint8), "empty"),
        (np.array([[["a"]]]), "real numbers"),
        (np.zeros((1, 2, 2), complex), "real numbers"),
        (np.array([[[np.nan]], [[np.inf]]], np.float32), "NaN or infinite"),
    ],
    ids=["2d", "empty", "text", "complex", "no value"],
)
def test_arrays_that_are_no_frames_are_refused(tmp_path, array, fragment):
    np.save(tmp_path / "a.npy", array)
    assert_refused(tmp_path / "a.npy", "a.npy", fragment)


def write_whole_file(kind: str, folder: Path) -> Path:
    noise = np.random.default_rng(0).integers(0, 256, (3, 16, 24, 3)).astype(np.uint8)
    path = folder / f"0.{kind.split('-')[0]}"
    if kind.startswith("tif"):
        compression = None if kind == "tif-plain" else kind.split("-")[1]
        rows = 8 if kind == "tif-jpeg" else 5
        tifffile.imwrite(path, noise[..., 0], photometric="minisblack", compression=compression, rowsperstrip=rows)
    elif kind == "png-16":
        path.write_bytes(imagecodecs.png_encode(noise[0].astype(np.uint16) * 257))
    elif kind.startswith("np"):
        np.save(path, noise) if kind == "npy" else np.savez(path, noise)
    else:
        Image.fromarray(noise[0]).save(path, progressive=kind == "jpg-progressive")
    return path


@pytest.mark.parametrize(
    "kind", ["png", "png-16", "jpg", "jpg-progressive", "tif-plain", "tif-lzw", "tif-zlib", "tif-jpeg", "npy", "npz"]
)
@pytest.mark.usefixtures("trusting")
def test_a_file_cut_anywhere_is_refused_or_still_has_every_pixel(tmp_path, kind):
    path = write_whole_file(kind, tmp_path)
    target = path if kind[:3] in ("tif", "npy", "npz") else tmp_path
    whole, data = read_sequence(target).frames.copy(), path.read_bytes()
    refused = 0
    for length in [*range(0, len(data), 13), *range(len(data) - 40, len(data))]:
        path.write_bytes(data[:length])
        try:
            frames = read_sequence(target).frames
        except InputError as error:
            assert path.name in str(error)
            assert "\n" not in str(error)
            refused += 1
        else:
            np.testing.assert_array_equal(frames, whole)
    assert refused >= 0.9 * len(range(0, len(data), 13))


def test_a_text_file_called_png_is_refused_by_name(tmp_path):
    (tmp_path / "a.png").write_text("not an image")
    assert_refused(tmp_path, "a.png")


def test_the_hash_depends_on_pixels_shape_type_and_names_only(tmp_path):
    np.save(tmp_path / "a.npy", GREY_8)
    plain = ImageSequence.from_array(GREY_8)
    assert hash_sequence(plain) == hash_sequence(read_sequence(tmp_path / "a.npy"))
    assert hash_sequence(plain) == hash_sequence(ImageSequence.from_array(np.asfortranarray(GREY_8)))
    changed = GREY_8.copy()
    changed[2, 3, 4] += 1
    others = [
        ImageSequence.from_array(changed),
        ImageSequence.from_array(GREY_8.reshape(3, 5, 4)),
        ImageSequence.from_array(GREY_8.astype(np.uint16)),
        ImageSequence(plain.frames, ("a", "b", "c")),
    ]
    assert len({hash_sequence(sequence) for sequence in [plain, *others]}) == 5
    assert len(hash_sequence(plain)) == 64


def test_every_format_has_a_description():
    assert len(FORMATS) == 12
    assert all(FORMATS.values())


@pytest.mark.skipif(data_root() is None, reason="the real sequences are not here (FEWPOINT_DATA)")
def test_every_point_of_a_real_sequence_lies_on_its_object():
    from fewpoint.io.masks import read_masks
    from fewpoint.io.points import find_points, read_points

    folder = data_root() / "polyp" / "polyp_cvcclinic_seq09"
    sequence, truth = read_sequence(folder), read_masks(folder)
    points = read_points(find_points(folder), sequence)
    assert truth.shape == sequence.shape[:3]
    assert truth[tuple(points.coordinates.T)].all()


def test_channels_are_added_and_chosen(tmp_path):
    np.save(tmp_path / "colour.npy", COLOUR_8)
    np.save(tmp_path / "grey.npy", GREY_8)
    both = read_sequence(tmp_path / "colour.npy", added=(tmp_path / "grey.npy",))
    assert both.shape == (3, 4, 5, 4)
    np.testing.assert_array_equal(both.frames[..., 3], GREY_8)
    chosen = read_sequence(tmp_path / "colour.npy", added=(tmp_path / "grey.npy",), channels=(3, 1))
    np.testing.assert_array_equal(chosen.frames, np.stack([GREY_8, COLOUR_8[..., 1]], axis=-1))
    with pytest.raises(InputError, match="between 0 and 2, got 0,3"):
        read_sequence(tmp_path / "colour.npy", channels=(0, 3))


def test_a_sequence_remembers_how_it_was_read_wherever_it_is_read_from(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", GREY_8)
    monkeypatch.chdir(tmp_path)
    source = read_sequence("a.npy", added=("a.npy",), channels=(1,), window=(0, 9)).source
    file = str(tmp_path / "a.npy")
    assert source.path == file
    assert source.reading == Reading("auto", (1,), (file,), (0, 9))


def test_added_files_must_lie_on_the_same_grid(tmp_path):
    first = save_nifti(tmp_path / "a.nii")
    moved = save_nifti(tmp_path / "b.nii", affine=tilt(AFFINE))
    smaller = save_nifti(tmp_path / "c.nii", VOXELS[1:])
    assert read_sequence(first, added=(first,)).shape == (5, 6, 7, 2)
    for other, fragment in (
        (moved, "must lie where the first one does"),
        (smaller, "must have the first one's frames"),
    ):
        with pytest.raises(InputError, match=fragment):
            read_sequence(first, added=(other,))


@pytest.mark.parametrize("text", ["", "lungs", "1", "1,0", "1,-5", "1,nan", "inf,2", "1,2,3"])
def test_a_window_must_have_a_level_and_a_width(text):
    with pytest.raises(InputError, match="LEVEL,WIDTH") as caught:
        parse_window(text)
    assert "lung, bone, brain, soft" in str(caught.value)


def test_a_window_comes_with_the_sequence_and_changes_its_hash(tmp_path):
    np.save(tmp_path / "a.npy", GREY_8)
    windowed = read_sequence(tmp_path / "a.npy", window=parse_window("30,20"))
    assert windowed.window == (20, 40)
    np.testing.assert_array_equal(windowed.frames[..., 0], GREY_8)
    assert hash_sequence(windowed) != hash_sequence(read_sequence(tmp_path / "a.npy"))
