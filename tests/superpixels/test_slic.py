"""Superpixels of frames."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fewpoint.core import Geometry, ImageSequence, Source, StageProgress
from fewpoint.errors import SettingsError
from fewpoint.evaluation import make_phantom, score_ceiling
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames, segment_volume
from real_data import data_root

SMALL = SuperpixelSettings(count=60)
DATA = data_root()


def is_connected(mask: np.ndarray) -> bool:
    from scipy.ndimage import label

    return label(mask)[1] == 1


def quarters(size: int) -> ImageSequence:
    """Four squares of different grey."""
    grey = np.kron(np.array([[20, 90], [160, 230]], np.uint8), np.ones((size // 2, size // 2), np.uint8))
    return ImageSequence.from_array(grey[np.newaxis])


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_all_regions_are_connected_and_about_as_many_as_asked(channels):
    frames = np.random.default_rng(0).integers(0, 255, (2, 40, 50, channels), np.uint8)
    superpixels = segment_frames(ImageSequence.from_array(frames), SMALL)
    assert all(30 <= count <= 120 for count in superpixels.counts)
    for labels, count in zip(superpixels.labels, superpixels.counts, strict=True):
        assert all(is_connected(labels == region) for region in range(count))


def test_the_result_does_not_depend_on_the_number_of_jobs():
    sequence = make_phantom(n_frames=5, size=(40, 48), channels=3).sequence
    alone, many = (segment_frames(sequence, SMALL, jobs=jobs).labels for jobs in (1, 3))
    np.testing.assert_array_equal(alone, many)


def test_a_frame_is_cut_alike_wherever_it_stands():
    sequence = make_phantom(n_frames=4, size=(40, 48)).sequence
    reverse = ImageSequence.from_array(sequence.frames[::-1].copy())
    np.testing.assert_array_equal(segment_frames(reverse, SMALL).labels[::-1], segment_frames(sequence, SMALL).labels)


@pytest.mark.parametrize(("frames", "channels"), [(1, 1), (12, 1), (12, 3)])
def test_regions_of_a_volume_are_connected_on_each_frame_and_about_as_many_as_asked(frames, channels):
    superpixels = segment_volume(make_phantom(frames, (40, 48), channels=channels).sequence, SMALL)
    assert all(30 <= count <= 120 for count in superpixels.counts)
    for labels, count in zip(superpixels.labels, superpixels.counts, strict=True):
        assert all(is_connected(labels == region) for region in range(count))


def test_regions_of_a_volume_go_on_from_frame_to_frame():
    """Noise moves the borders of frames cut one by one, but those of frames cut at once only where regions end."""
    grey = np.tile(quarters(48).frames, (12, 1, 1, 1)) + np.random.default_rng(0).integers(-9, 9, (12, 48, 48, 1))
    sequence = ImageSequence.from_array(grey.astype(np.uint8))
    moved = []
    for segment in (segment_frames, segment_volume):
        labels = segment(sequence, SMALL).labels
        borders = (labels[:, :, 1:] != labels[:, :, :-1]).astype(int)
        moved.append(np.median(np.abs(np.diff(borders, axis=0)).sum(axis=(1, 2))))
    assert moved[1] < 0.5 * moved[0]


def test_progress_counts_the_frames():
    events = []
    segment_frames(make_phantom(n_frames=3, size=(32, 32)).sequence, SMALL, events.append)
    assert events == [StageProgress("superpixels", done) for done in (1, 2, 3)]


def test_borders_follow_strong_edges():
    sequence = quarters(64)
    superpixels = segment_frames(sequence, SMALL)
    bright = sequence.frames[..., 0] > 125
    assert score_ceiling(superpixels, bright).pooled.f1 > 0.98


def test_a_large_frame_is_cut_at_reduced_size_and_regions_stay_connected():
    settings = SuperpixelSettings(count=30, max_side=32)
    sequence = quarters(100)
    superpixels = segment_frames(sequence, settings)
    assert superpixels.labels.shape == (1, 100, 100)
    assert all(is_connected(superpixels.labels[0] == region) for region in range(superpixels.counts[0]))
    # 100 / 32: a border is at most half a reduced pixel, 1.6 pixels of 50, from where it should be.
    assert score_ceiling(superpixels, sequence.frames[..., 0] > 125).pooled.f1 > 0.96


@pytest.mark.parametrize("size", [(16, 16), (5, 7), (1, 1)])
def test_tiny_and_constant_frames_are_cut_too(size):
    superpixels = segment_frames(ImageSequence.from_array(np.full((2, *size), 9, np.uint8)), SuperpixelSettings())
    assert superpixels.labels.shape == (2, *size)


def test_the_brightness_scale_of_the_input_does_not_matter():
    frames = make_phantom(n_frames=2, size=(40, 40)).sequence.frames
    wide = ImageSequence.from_array(frames.astype(np.uint16) * 200 + 1000)
    same = segment_frames(wide, SMALL).labels == segment_frames(ImageSequence.from_array(frames), SMALL).labels
    # Rounding in float32 may move single pixels.
    assert same.mean() > 0.99


def test_superpixels_follow_the_phantom():
    phantom = make_phantom(n_frames=3)
    assert score_ceiling(segment_frames(phantom.sequence, SuperpixelSettings()), phantom.truth).pooled.f1 > 0.93


@pytest.mark.skipif(DATA is None, reason="the real sequences are not there; set FEWPOINT_DATA")
@pytest.mark.parametrize(
    ("folder", "target"),
    [
        ("brain/brats_flair_pat2", 0.92),
        ("tool/endovis17_scissors_f072", 0.96),
        ("polyp/polyp_cvcclinic_seq05", 0.93),
        ("ct/ct_ibsi_lungtumour", 0.95),
        ("organ/mr_t1_sarcoma_sts004", 0.95),
    ],
)
def test_superpixels_follow_real_objects(folder, target):
    names = [path.name for path in sorted((DATA / folder / "input-frames").iterdir())]
    chosen = names[len(names) // 3 :: len(names) // 3][:2]
    frames = [np.asarray(Image.open(DATA / folder / "input-frames" / name)) for name in chosen]
    truth = [
        np.asarray(Image.open(DATA / folder / "ground_truth-frames" / f"{Path(name).stem}.png")) for name in chosen
    ]
    superpixels = segment_frames(ImageSequence.from_array(np.stack(frames)), SuperpixelSettings())
    assert score_ceiling(superpixels, np.stack(truth) > 0).pooled.f1 > target


@pytest.mark.parametrize("wrong", [{"count": 0}, {"compactness": 0.0}, {"compactness": np.inf}, {"max_side": 8}])
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"superpixels.{next(iter(wrong))}"):
        SuperpixelSettings(**wrong)


@pytest.mark.parametrize("spacing", [(1.0, 4.0), (4.0, 1.0)], ids=["flat", "upright"])
def test_superpixels_are_square_in_millimetres_and_not_in_pixels(spacing):
    """On frames of noise 4 mm coarse along one side: about as wide as high in the patient, so 4 : 1 in pixels."""
    size = (96, 24) if spacing[0] < spacing[1] else (24, 96)
    frames = np.random.default_rng(0).integers(0, 9, (1, *size, 1)).astype(np.uint8)
    geometry = Geometry((size[1], size[0], 1), (spacing[1], spacing[0], 1.0), np.eye(3), (0.0, 0.0, 0.0))
    sequence = ImageSequence(frames, ("a",), Source("", "nifti", geometry))
    assert sequence.square_size == (96, 96)
    labels = segment_frames(sequence, SuperpixelSettings(count=36, compactness=200)).labels[0]
    sides = [np.ptp(np.nonzero(labels == region), axis=1) + 1 for region in range(labels.max() + 1)]
    height_mm, width_mm = np.median(sides, axis=0) * spacing
    assert 0.5 < height_mm / width_mm < 2
