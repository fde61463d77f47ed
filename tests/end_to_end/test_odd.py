"""Sequences of odd shapes run through, and say what cannot work."""

import numpy as np
import pytest
import torch

from fewpoint.api.segmenting import segment
from fewpoint.core import AreaBound, Geometry, ImageSequence, PointSet, Source, ignore
from fewpoint.pipeline import stages
from fewpoint.pipeline.task import Task
from fewpoint.runs.summary import find_warnings
from synthetic import TINY


def make_frames(count: int, height: int, width: int) -> np.ndarray:
    """Noise with a bright block in the first quarter."""
    frames = np.random.default_rng(0).integers(0, 60, (count, height, width)).astype(np.uint8)
    frames[:, height // 4 : height // 2, width // 4 : width // 2] += 150
    return frames


@pytest.mark.parametrize("shape", [(1, 48, 40), (3, 48, 40), (2, 200, 4000), (3, 5, 7)])
def test_masks_have_the_full_size_and_hold_the_click(shape):
    _, height, width = shape
    points = PointSet.from_rows([(0, height // 3, width // 3)])
    result = segment(ImageSequence.from_array(make_frames(*shape)), points, 0.3, settings=TINY)
    assert result.masks.shape == shape
    assert result.masks[tuple(points.coordinates[0])]
    assert any("one frame only" in warning for warning in find_warnings(result)) == (shape[0] == 1)


def test_an_object_absent_on_many_frames_is_marked_on_none_of_them():
    frames = make_frames(12, 40, 48)
    frames[4:] = np.random.default_rng(1).integers(0, 60, frames[4:].shape)
    points = PointSet.from_rows([(frame, 13, 16) for frame in range(4)], absent=range(4, 12))
    result = segment(ImageSequence.from_array(frames), points, 0.3, settings=TINY)
    assert result.masks[:4].any(axis=(1, 2)).all()
    assert not result.masks[4:].any()
    assert (result.priors.mean[4:] == 0).all()


def test_an_object_that_appears_midway_needs_no_click_before():
    frames = make_frames(12, 40, 48)
    frames[:6] = np.random.default_rng(1).integers(0, 60, frames[:6].shape)
    points = PointSet.from_rows([(frame, 13, 16) for frame in range(6, 12)], absent=[0])
    result = segment(ImageSequence.from_array(frames), points, 0.3, settings=TINY)
    assert result.masks[6:].any(axis=(1, 2)).all()
    assert not result.masks[0].any()


def test_a_wide_frame_is_worked_on_at_a_bounded_size(monkeypatch):
    built = []
    real = stages.build_samples

    def build(*given, **named):
        built.append(real(*given, **named))
        return built[-1]

    monkeypatch.setattr(stages, "build_samples", build)
    points = PointSet.from_rows([(0, 66, 1333)])
    result = segment(ImageSequence.from_array(make_frames(1, 200, 4000)), points, 0.3, settings=TINY)
    assert max(built[0][0].frames.shape[2:]) == TINY.training.max_side
    assert result.masks.shape == (1, 200, 4000)


def test_oblong_pixels_are_worked_on_as_square_as_they_become_without_enlarging():
    geometry = Geometry.from_affine(np.diag([0.5, 4.0, 1.0, 1.0]), (64, 10, 3))
    frames = make_frames(3, 10, 64)[..., np.newaxis]
    sequence = ImageSequence(frames, ("a", "b", "c"), Source("", "nifti", geometry))
    points = PointSet.from_rows([(0, 3, 20)])
    task = Task(sequence, points, AreaBound(0.3), TINY)
    superpixels = stages.cut_superpixels(task, ignore)
    (samples,) = stages.prepare_samples({"": task}, superpixels, (points,), torch.device("cpu"))
    # 40 mm by 32 mm at most 32 pixels long: 10 rows cannot become 32, and 64 columns become 26.
    assert samples.size.reduced == (10, 26)
