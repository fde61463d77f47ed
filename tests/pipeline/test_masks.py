"""From probabilities to masks, on inputs whose result is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound, ImageSequence, PointSet, ProbabilityMaps, SuperpixelMap
from fewpoint.core.settings import override, override_from_text
from fewpoint.pipeline.group import _prepare
from fewpoint.pipeline.masks import Smoother, build_smoothers, choose_labels
from fewpoint.pipeline.task import Task
from tiny_runs import TINY, TINY_PAPER

CPU = torch.device("cpu")


def choose_masks(
    task: Task, superpixels: SuperpixelMap, maps: ProbabilityMaps, smoother: Smoother | None = None
) -> np.ndarray:
    """The masks of a single object; a label of 1 is its own."""
    chosen = choose_labels({"": task}, superpixels, (maps,), (smoother,))
    assert (chosen.labels.dtype, chosen.labels.max() <= 1, chosen.ties) == (np.uint8, True, 0)
    return chosen.labels == 1


def build_smoother(task: Task, superpixels: SuperpixelMap, carried: PointSet) -> Smoother:
    return build_smoothers({"": task}, superpixels, (carried,))[0]


def make_bands(n_frames: int = 5) -> tuple[SuperpixelMap, ImageSequence]:
    """Three upright bands of 4 pixels, the same on each frame."""
    labels = np.tile(np.repeat(np.arange(3, dtype=np.int32), 4), (n_frames, 12, 1))
    return SuperpixelMap(labels), ImageSequence.from_array(np.zeros((n_frames, 12, 12), np.uint8))


def masks_for(probabilities: list[list[float]], points: PointSet, *assignments: str) -> np.ndarray:
    """Which bands the masks hold, (T, 3), for a probability a band."""
    superpixels, sequence = make_bands(len(probabilities))
    settings = override_from_text(TINY_PAPER, list(assignments))
    task = Task(sequence, points, AreaBound(0.5), settings, device="cpu")
    maps = np.repeat(np.array(probabilities, np.float16), 4, axis=1)[:, np.newaxis].repeat(12, axis=1)
    return choose_masks(task, superpixels, ProbabilityMaps(maps))[:, 0, ::4]


def test_without_tracking_superpixels_at_one_half_or_above_are_chosen():
    chosen = masks_for([[0.49, 0.5, 0.9]] * 2, PointSet.from_rows([(0, 0, 9)]), "tracking.enabled=false")
    assert chosen.tolist() == [[False, True, True]] * 2


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_what_was_clicked_is_in_the_mask_however_unlikely(enabled):
    chosen = masks_for([[0.1, 0.1, 0.1]] * 2, PointSet.from_rows([(1, 0, 5)]), f"tracking.enabled={enabled}")
    assert chosen.tolist() == [[False, False, False], [False, True, False]]


def test_with_tracking_only_what_a_click_reaches_is_chosen():
    chosen = masks_for([[0.9, 0.1, 0.9]] * 3, PointSet.from_rows([(0, 0, 0)]))
    assert chosen.tolist() == [[True, False, False]] * 3


@pytest.mark.parametrize("assignment", ["tracking.prune=0", "tracking.prune=0.4", "tracking.enabled=false"])
def test_absent_frames_have_empty_masks_even_where_a_path_could_cross_them(assignment):
    rows = [[0.99, 0.01, 0.01]] * 8
    rows[3] = [0.0, 0.0, 0.0]
    chosen = masks_for(rows, PointSet.from_rows([(0, 0, 0)], absent=[3]), assignment)
    assert not chosen[3].any()
    assert chosen[:3, 0].all()
    # Without pruning the path does cross: four frames of gain lie behind one of cost.
    assert chosen[4:, 0].all() == (assignment != "tracking.prune=0.4")


def make_halves(right: int, *assignments: str) -> tuple[Task, SuperpixelMap]:
    """Two frames, the first of two bands and the second of three; left of column 8 grey 50, on the right another."""
    labels = np.zeros((2, 12, 12), np.int32)
    labels[:, :, 8:] = 1
    labels[1, :, 4:8], labels[1, :, 8:] = 1, 2
    frames = np.full((2, 12, 12), 50, np.uint8)
    frames[:, :, 8:] = right
    settings = override_from_text(TINY, ["diffusion.enabled=true", *assignments])
    task = Task(ImageSequence.from_array(frames), PointSet.from_rows([(0, 3, 3)]), AreaBound(0.5), settings)
    return task, SuperpixelMap(labels)


def test_nothing_is_evened_out_unless_the_settings_say_so():
    task, superpixels = make_halves(200, "diffusion.enabled=false")
    inputs = _prepare({"": task}, superpixels, CPU)[""]
    assert (inputs.smoother, inputs.clues.even_out) == (None, None)
    evened = replace(task, settings=override(task.settings, "diffusion.enabled", "true"))
    assert _prepare({"": evened}, superpixels, CPU)[""].smoother is not None


def test_targets_are_evened_out_region_by_region_whatever_the_number_of_a_frame():
    # A weak pull lets the click fill all that looks like it, on both frames, and nothing else.
    task, superpixels = make_halves(200, "diffusion.pull=0.01", "diffusion.through_time=100", "diffusion.seed=1000")
    smoother = build_smoother(task, superpixels, task.points)
    evened = smoother.even_out(np.full((2, 3), 0.1, np.float32))
    assert (evened.shape, evened.dtype) == ((2, 3), np.float32)
    assert (evened[0, 0], *evened[1, :2]) == pytest.approx((1, 1, 1), abs=0.05)
    assert max(evened[0, 1], evened[1, 2]) < 0.5
    assert evened[0, 2] == 0  # the first frame has no third region


def test_masks_are_those_of_probabilities_evened_out_with_the_last_pull():
    maps = np.full((2, 12, 12), 0.7, np.float16)
    maps[1, :, :4] = 0.4  # looks like the 0.7 around it
    maps[:, :, 8:] = 0.3
    task, superpixels = make_halves(200, "diffusion.blur=0")
    smoother = build_smoother(task, superpixels, task.points)
    plain = choose_masks(task, superpixels, ProbabilityMaps(maps))
    evened = choose_masks(task, superpixels, ProbabilityMaps(maps), smoother)
    assert plain[:, 0, ::4].tolist() == [[True, True, False], [False, True, False]]
    assert evened[:, 0, ::4].tolist() == [[True, True, False], [True, True, False]]
    own = ["diffusion.last_pull=1000", "diffusion.through_time=0", "diffusion.blur=0"]
    kept, _ = make_halves(200, *own)
    held = build_smoother(kept, superpixels, kept.points)
    np.testing.assert_array_equal(choose_masks(kept, superpixels, ProbabilityMaps(maps), held), plain)


def test_carried_points_are_seeds_of_the_evening_out_but_only_clicks_are_sure_of_their_place():
    task, superpixels = make_halves(200)
    carried = PointSet.from_rows([(0, 3, 3), (1, 3, 10)])
    assert build_smoother(task, superpixels, carried).seeds.tolist() == [0, 4]
    found = np.zeros((2, 12, 12), np.float16)
    found[0, :, :8] = 0.9
    # A seed that nothing holds takes what its neighbour has; the click is there whatever flows into it.
    weak, _ = make_halves(200, "diffusion.seed=0", "diffusion.through_time=0", "diffusion.blur=0")
    smoother = build_smoother(weak, superpixels, carried)
    masks = choose_masks(weak, superpixels, ProbabilityMaps(found), smoother)
    assert masks[:, 0, ::4].tolist() == [[True, True, False], [False, False, False]]


@pytest.mark.parametrize("assignment", ["tracking.prune=0", "tracking.prune=0.4", "tracking.enabled=false"])
def test_a_superpixel_under_a_negative_is_never_in_the_mask_unless_it_was_clicked_too(assignment):
    points = PointSet.from_rows([(0, 0, 0), (2, 0, 5)], negatives=[(1, 3, 1), (2, 7, 5)])
    chosen = masks_for([[0.9, 0.9, 0.1]] * 3, points, assignment, "tracking.radius=0.9")
    assert chosen[:, 0].tolist() == [True, False, True]
    assert chosen[:, 1].tolist() == [True, True, True]


def test_negatives_are_held_at_zero_when_probabilities_are_evened_out():
    task, superpixels = make_halves(200, "diffusion.pull=0.01")
    task = replace(task, points=PointSet.from_rows([(0, 3, 10)], negatives=[(0, 3, 3)]))
    smoother = build_smoother(task, superpixels, task.points)
    assert (smoother.seeds.tolist(), smoother.refused.tolist()) == ([1], [0])
    evened = smoother.even_out(np.full((2, 3), 0.6, np.float32))
    assert evened[0, 0] < 0.1
    assert evened[0, 1] > 0.6
