"""From probabilities to masks, on inputs whose result is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit

from fewpoint.core import (
    NOTHING_SAID,
    AreaBound,
    Box,
    ImageSequence,
    PointSet,
    ProbabilityMaps,
    SuperpixelMap,
    Words,
)
from fewpoint.core.settings import override, override_from_text
from fewpoint.pipeline.group import _prepare
from fewpoint.pipeline.masks import (
    Smoother,
    Surroundings,
    Touched,
    build_smoothers,
    choose_labels,
    find_touched,
    keep_untouched,
    level_of_words,
    settle,
)
from fewpoint.pipeline.model import GroupModel, Model
from fewpoint.pipeline.previous import Cut, PreviousGroup, PreviousRun
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.regions import region_means
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


# A disc whose probability falls with the distance to its middle, on blocks of 2 x 2 pixels.
SIDE, N_FRAMES = 32, 3
SMOOTH = override_from_text(TINY, ["diffusion.enabled=true", "diffusion.blur=0.5"])
MIDDLE = (15, 15)


def make_blocks() -> SuperpixelMap:
    labels = np.arange((SIDE // 2) ** 2, dtype=np.int32).reshape(SIDE // 2, SIDE // 2).repeat(2, 0).repeat(2, 1)
    return SuperpixelMap(np.tile(labels, (N_FRAMES, 1, 1)))


def make_slope(middle: tuple[float, float] = MIDDLE, radius: float = 8.0) -> ProbabilityMaps:
    """One half on a circle."""
    rows, columns = np.indices((SIDE, SIDE))
    distance = np.hypot(rows - middle[0], columns - middle[1])
    return ProbabilityMaps(np.tile(expit(radius - distance), (N_FRAMES, 1, 1)).astype(np.float16))


def make_slope_task(points: PointSet | None = None, words: Words = NOTHING_SAID) -> Task:
    """Frames without any edge: there, masks are what the probabilities say."""
    points = PointSet.from_rows([(0, *MIDDLE)]) if points is None else points
    sequence = ImageSequence.from_array(np.random.default_rng(0).integers(90, 110, (N_FRAMES, SIDE, SIDE)).astype("u1"))
    return Task(sequence, points, AreaBound(0.5), SMOOTH, words=(("", words),))


def cut(task: Task, maps: ProbabilityMaps | None = None, level: float | None = 0.0) -> np.ndarray:
    superpixels = make_blocks()
    smoothers = build_smoothers({"": task}, superpixels, (task.points,))
    return (
        choose_labels(
            {"": task}, superpixels, (maps or make_slope(),), smoothers, (None if level is None else Cut(level),)
        ).labels
        == 1
    )


def draw(*box: int) -> np.ndarray:
    """A mask of the box top, left, bottom, right."""
    mask = np.zeros((SIDE, SIDE), bool)
    mask[box[0] : box[2], box[1] : box[3]] = True
    return mask


def test_an_outlined_frame_is_exactly_as_drawn_and_teaches_the_others():
    plain = cut(make_slope_task())
    for outline in (draw(9, 9, 22, 22), draw(0, 0, 0, 0), draw(3, 3, 29, 28)):
        masks = cut(make_slope_task(words=Words.of({1: outline})))
        np.testing.assert_array_equal(masks[1], outline)
        sizes = [int(each[[0, 2]].sum()) for each in (masks, plain)]
        if outline.sum() > plain[1].sum():
            assert sizes[0] > sizes[1]
        elif outline.any():
            assert sizes[0] < sizes[1]
        else:  # an object that is not there has no size
            assert masks[[0, 2]].any(axis=(1, 2)).all()


def test_nothing_lies_outside_a_box_on_its_frame():
    box = Box(2, 10, 8, 18, 19)
    masks = cut(make_slope_task(words=Words(boxes=(box,))))
    assert masks[2].any()
    assert not masks[2][~draw(10, 8, 18, 19)].any()
    assert masks[0][~draw(10, 8, 18, 19)].any()


@pytest.mark.parametrize("seed", range(4))
def test_clicked_pixels_are_in_and_negatives_out_whatever_the_probabilities(seed):
    rng = np.random.default_rng(seed)
    places = rng.permutation(N_FRAMES * SIDE * SIDE)[:16]
    rows = np.stack(np.unravel_index(places, (N_FRAMES, SIDE, SIDE)), axis=1).tolist()
    points = PointSet.from_rows([tuple(row) for row in rows[:8]], negatives=[tuple(row) for row in rows[8:]])
    maps = ProbabilityMaps(rng.uniform(size=(N_FRAMES, SIDE, SIDE)).astype(np.float16))
    masks = cut(make_slope_task(points), maps, level=None)
    assert masks[tuple(points.coordinates.T)].all()
    assert not masks[tuple(points.negatives.T)].any()


@pytest.mark.parametrize("smoothed", [True, False])
def test_a_negative_in_a_clicked_superpixel_is_out_by_its_pixel(smoothed):
    points = PointSet.from_rows([(0, 14, 14)], negatives=[(0, 15, 15)])
    task = make_slope_task(points)
    masks = cut(task) if smoothed else choose_masks(task, make_blocks(), make_slope())
    assert masks[0, 14:16, 14:16].tolist() == [[True, True], [True, False]]


def test_clicks_and_negatives_change_what_is_alike_on_all_frames():
    plain = cut(make_slope_task())
    far, near = (0, 15, 26), (0, 15, 20)
    added = cut(make_slope_task(PointSet.from_rows([(0, *MIDDLE), far])))
    removed = cut(make_slope_task(PointSet.from_rows([(0, *MIDDLE)], negatives=[near])))
    assert added.sum() > plain.sum() + 4 and added[1].sum() > plain[1].sum()
    assert removed.sum() < plain.sum() - 4 and removed[1].sum() < plain[1].sum()


def test_words_of_several_objects_hold_for_each():
    points = PointSet.from_rows(
        [(0, 10, 10), (0, 20, 20), (1, 12, 16)], objects=["a", "b", "b"], negatives=[(2, 9, 9)], negative_objects=["a"]
    )
    outline = draw(4, 4, 13, 14)
    words = (("a", Words.of({1: outline})), ("b", Words(boxes=(Box(2, 16, 16, 28, 28),))))
    whole = replace(make_slope_task(), points=points, words=words)
    tasks = {name: whole.of_object(name) for name in "ab"}
    superpixels = make_blocks()
    smoothers = build_smoothers(tasks, superpixels, tuple(each.points for each in tasks.values()))
    maps = make_slope((10, 10)), make_slope((20, 20))
    labels = choose_labels(tasks, superpixels, maps, smoothers, (Cut(), Cut())).labels
    assert (labels[0, 10, 10], labels[0, 20, 20], labels[1, 12, 16]) == (1, 2, 2)
    np.testing.assert_array_equal(labels[1] == 1, outline)
    assert labels[2, 9, 9] != 1
    assert (labels[2] == 2).any() and not (labels[2] == 2)[~draw(16, 16, 28, 28)].any()


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.5, 2.0])
def test_a_size_makes_masks_as_many_times_larger(factor):
    plain, sized = cut(make_slope_task()), cut(make_slope_task(words=Words(size=factor)))
    # Superpixels and the blur of their edges leave some leeway.
    assert sized.sum() == pytest.approx(factor * plain.sum(), rel=0.1)
    np.testing.assert_array_equal(cut(make_slope_task(words=Words(size=1.0))), plain)


def test_the_size_of_a_frame_changes_that_frame_only():
    plain, sized = cut(make_slope_task()), cut(make_slope_task(words=Words(sizes={1: 1.6})))
    np.testing.assert_array_equal(sized[[0, 2]], plain[[0, 2]])
    assert sized[1].sum() == pytest.approx(1.6 * plain[1].sum(), rel=0.1)
    both = cut(make_slope_task(words=Words(size=0.5, sizes={1: 2.0})))
    assert both[0].sum() == pytest.approx(0.5 * plain[0].sum(), rel=0.15)
    assert both[1].sum() == pytest.approx(plain[1].sum(), rel=0.15)


def test_the_level_that_is_passed_in_is_used_and_kept():
    sizes = [cut(make_slope_task(), level=level).sum() for level in (-2.0, 0.0, 2.0)]
    assert sizes[0] > sizes[1] > sizes[2] > 0
    task, superpixels = make_slope_task(), make_blocks()
    smoothers = build_smoothers({"": task}, superpixels, (task.points,))
    assert choose_labels({"": task}, superpixels, (make_slope(),), smoothers, (Cut(1.25),)).cuts == (Cut(1.25),)
    found = choose_labels({"": task}, superpixels, (make_slope(),), smoothers)
    again = choose_labels({"": task}, superpixels, (make_slope(),), smoothers, found.cuts)
    np.testing.assert_array_equal(found.labels, again.labels)
    assert choose_labels({"": task}, superpixels, (make_slope(),), (None,)).cuts == (Cut(),)


@pytest.mark.parametrize("radius", [6.0, 11.0])
def test_masks_end_at_the_edge_of_the_image_where_the_probabilities_do_not(radius):
    task = make_slope_task()
    frames = np.array(task.sequence.frames)
    disc = np.hypot(*(np.indices((SIDE, SIDE)) - 15)) <= 8
    frames[:, disc] += 100
    task = replace(task, sequence=ImageSequence.from_array(frames), bound=AreaBound(0.5, doubt=0.6))
    off = [abs(int(cut(task, make_slope(radius=radius), level)[1].sum()) - int(disc.sum())) for level in (None, 0.0)]
    assert off[0] < off[1]


def test_scores_are_settled_with_the_words_but_sizes_can_be_left_out():
    task = make_slope_task(words=Words(size=2.0))
    (smoother,) = build_smoothers({"": task}, make_blocks(), (task.points,))
    means = region_means(make_blocks(), make_slope().values)
    sized, plain = (
        settle(replace(task, words=(("", words),)), means, smoother, Cut()) for words in (Words(size=2.0), NOTHING_SAID)
    )
    assert (sized.cut, plain.cut) == (Cut(), Cut())
    assert (sized.scores >= 0).sum() == pytest.approx(2 * (plain.scores >= 0).sum(), abs=1)


def refined_from(task: Task, labels: np.ndarray | None = None, **told) -> Task:
    """The task as a refinement of a run on its objects, which was told the same unless said otherwise."""
    names = task.object_names
    heads = {"head.weight": np.zeros((len(names), 1)), "head.bias": np.zeros(len(names))}
    model = GroupModel(names, (heads,))
    group = PreviousGroup((AreaBound(0.5),) * len(names), (0, SIDE, 0, SIDE), model, labels=labels)
    previous = PreviousRun("", "", SMOOTH, (group,), Model(SMOOTH.network, 1, (model,)), task.points, task.words)
    return replace(task, bound=None, previous=replace(previous, **told))


TWO = PointSet.from_rows([(0, 10, 10), (0, 20, 20)], objects=["a", "b"])


def make_two(points: PointSet = TWO, words: tuple[tuple[str, Words], ...] = ()) -> Task:
    return replace(make_slope_task(), points=points, words=words, bound=None)


@pytest.mark.parametrize(
    ("now", "touched"),
    [
        (make_two(), ""),
        (make_two(PointSet.from_rows([(0, 10, 10), (0, 20, 20), (1, 9, 9)], objects=["a", "b", "a"])), "a"),
        (make_two(replace(TWO, negatives=np.array([[1, 5, 5]]), negative_objects=("b",))), "b"),
        (make_two(replace(TWO, negatives=np.array([[1, 5, 5]]), negative_objects=("",))), "ab"),
        (make_two(replace(TWO, absent=(2,))), "ab"),
        (make_two(replace(TWO, absent_of=((2, "a"),))), "a"),
        (make_two(words=(("b", Words(size=1.5)),)), "b"),
        (make_two(words=(("b", Words()),)), ""),
        (replace(make_two(), own_bounds=(("a", AreaBound(0.3)),)), "a"),
        (replace(make_two(), own_bounds=(("a", AreaBound(0.5)),)), ""),
        (replace(make_two(), bound=AreaBound(0.5)), ""),
        (replace(make_two(), bound=AreaBound(0.3)), "ab"),
        (replace(make_two(), settings=override(SMOOTH, "diffusion.blur", 0)), "ab"),
        (make_two(PointSet.from_rows([*map(tuple, TWO.coordinates), (0, 5, 5)], objects=["a", "b", "c"])), "c"),
    ],
)
def test_what_was_said_since_touches_its_own_object(now, touched):
    previous = refined_from(make_two()).previous
    assert find_touched(replace(now, previous=previous)).words == frozenset(touched)


def test_a_point_on_another_object_touches_the_one_in_whose_mask_it_lies():
    labels = np.zeros((N_FRAMES, SIDE, SIDE), np.uint8)
    labels[:, 8:16, 8:16], labels[:, 17:24, 17:24] = 1, 2
    previous = refined_from(make_two(), labels).previous
    for place, touched in (((1, 12, 12), "ab"), ((1, 18, 18), "b"), ((1, 2, 2), "b")):
        points = PointSet.from_rows([*map(tuple, TWO.coordinates), place], objects=["a", "b", "b"])
        assert find_touched(replace(make_two(points), previous=previous)).words == frozenset(touched), place


def test_a_size_alone_is_no_lesson():
    task = make_two()
    previous = refined_from(task).previous
    sized = replace(task, words=(("a", Words(size=1.2)),), previous=previous)
    assert find_touched(sized) == Touched(frozenset("a"), frozenset())
    outlined = replace(task, words=(("a", Words.of({2: np.zeros((SIDE, SIDE), bool)})),), previous=previous)
    assert find_touched(outlined).lessons == {"a"}


def test_a_click_that_networks_have_learnt_from_is_left_to_itself():
    elsewhere = PointSet.from_rows([(0, *MIDDLE), (1, 26, 26)])
    first, corrected = cut(make_slope_task(elsewhere), level=None), cut(make_slope_task(elsewhere), level=0.0)
    assert first[1, 26, 26] and corrected[1, 26, 26]
    assert corrected[1, 20:, 20:].sum() > first[1, 20:, 20:].sum()


def test_a_click_that_networks_learnt_and_still_contradict_says_nothing_of_the_whole_size():
    doubted = AreaBound(0.5, doubt=1.0)
    early = PointSet.from_rows([(0, *MIDDLE), (1, 26, 26)])  # far outside of the disc
    both = PointSet.from_rows([*map(tuple, early.coordinates.tolist()), (0, 15, 16)])  # and one inside it
    known = replace(refined_from(make_slope_task(early), started=early), points=both, bound=doubted)
    unknown = replace(refined_from(make_slope_task(early)), points=both, bound=doubted)
    alone = replace(make_slope_task(), bound=doubted)
    sizes = [int(cut(task)[2].sum()) for task in (alone, known, unknown)]
    assert sizes[0] <= sizes[1] < sizes[2]


def make_labels() -> np.ndarray:
    """The disc that the slope marks, as masks of a run before."""
    return (np.asarray(make_slope().values) >= 0.5).astype(np.uint8)


def say_since(clicks: list[tuple[int, int, int]], negatives: list[tuple[int, int, int]], doubt: float = 1.0) -> Task:
    """A refinement of a run that knew the click in the middle only."""
    points = PointSet.from_rows([(0, *MIDDLE), *clicks], negatives=negatives)
    return replace(refined_from(make_slope_task(), make_labels()), points=points, bound=AreaBound(0.5, doubt=doubt))


MISSED, LEAKED = (1, 15, 25), (1, 15, 20)


def test_words_that_scores_contradict_say_how_far_all_of_them_are_off():
    near = Surroundings(make_slope_task().sequence, make_blocks(), DiffusionSettings())
    means = region_means(make_blocks(), make_slope().values)

    def find(task: Task) -> float:
        return level_of_words(task, means, near, Cut())

    plain, less, more = say_since([], []), say_since([], [LEAKED]), say_since([MISSED], [])
    assert find(plain) == 0 and find(more) < 0 < find(less)
    assert find(say_since([], [LEAKED], doubt=0.0)) == find(say_since([MISSED], [], doubt=0.0)) == 0
    assert 0 < find(say_since([], [LEAKED], doubt=0.5)) < find(less)
    assert find(replace(less, words=(("", Words.of({2: draw(9, 9, 22, 22)})),))) == 0
    learnt = replace(more, previous=replace(more.previous, points=more.points))
    assert find(learnt) == 0
    next_word = replace(learnt, points=replace(more.points, negatives=np.array([LEAKED])))
    assert find(next_word) == pytest.approx(find(less))
    assert find(replace(more, previous=replace(more.previous, points=None))) == 0


def test_words_on_both_sides_say_by_their_depth_how_large_the_object_is():
    """The disc has a radius of 8: places 10 and 2 from its middle lie 2 pixels outside of it and 6 inside."""

    def size(missed: int, leaked: int, doubt: float = 1.0) -> int:
        row, column = MIDDLE
        return int(cut(say_since([(1, row, column + missed)], [(2, row, column + leaked)], doubt))[0].sum())

    usual = int(cut(make_slope_task())[0].sum())
    assert size(missed=10, leaked=2) < usual < size(missed=13, leaked=7)
    assert size(missed=10, leaked=2, doubt=0.0) == pytest.approx(usual, rel=0.1)


def test_one_click_does_not_mark_all_of_a_frame_that_networks_are_unsure_of():
    maps = np.array(make_slope().values)
    maps[2] = 0.48
    task = replace(make_slope_task(PointSet.from_rows([(0, *MIDDLE), (0, 15, 25)])), bound=AreaBound(0.5, doubt=1.0))
    masks, plain = cut(task, ProbabilityMaps(maps)), cut(make_slope_task(), ProbabilityMaps(maps))
    assert masks[1].sum() > plain[1].sum()
    assert masks[2].sum() < 0.5 * masks[1].sum()


def test_without_knowing_what_a_run_was_told_all_are_touched():
    assert find_touched(make_two()).words == {"a", "b"}
    assert find_touched(refined_from(make_two(), points=None)).words == {"a", "b"}


def test_a_single_object_is_not_touched_by_another_name():
    before = refined_from(replace(make_two(), points=PointSet.from_rows([(0, 10, 10)], objects=["a"])))
    for objects in ((), ("b",)):
        renamed = replace(before.points, objects=objects)
        words = ((objects[0] if objects else "", Words()),)
        assert find_touched(replace(before, points=renamed, words=words)).words == frozenset()


def test_objects_that_nobody_touched_stay_but_for_what_is_said_of_others():
    before, now = np.zeros((2, N_FRAMES, SIDE, SIDE), np.uint8)
    before[:, :, :16], now[:, :, :20], now[:, :, 20:] = 1, 1, 2
    points = PointSet.from_rows([(0, 10, 10), (0, 20, 20), (1, 3, 3)], objects=["a", "b", "b"])
    task = make_two(points, (("b", Words.of({2: draw(0, 0, 4, 4)})),))
    previous = refined_from(make_two(), before).previous
    tasks = {name: replace(task.of_object(name), previous=previous) for name in "ab"}
    kept = keep_untouched(now.copy(), tasks, frozenset("b"))
    np.testing.assert_array_equal(kept[0] == 1, before[0] == 1)
    lost = [np.argwhere((before[frame] == 1) & (kept[frame] != 1)).tolist() for frame in (1, 2)]
    assert lost == [[[3, 3]], np.argwhere(draw(0, 0, 4, 4)).tolist()]
    assert not (kept[:, :, 16:20] == 1).any()
    np.testing.assert_array_equal(keep_untouched(now.copy(), tasks, frozenset("ab")), now)
