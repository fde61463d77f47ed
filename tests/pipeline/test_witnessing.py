"""A witness in whole runs: one that knows the object makes masks better, one that lies leaves every pixel as it was."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core import AreaBound, Message, Words
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.pipeline import witnessing
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.witness import store
from fewpoint.witness.encoding import Pictures
from fewpoint.witness.models import Answer
from tiny_runs import TINY, TINY_PAPER

SETTINGS = replace(TINY, diffusion=DiffusionSettings())
PHANTOM = make_phantom(n_frames=5, size=(60, 64))


class StandIn:
    """Answers with what `draw` makes of a prompt and the truth about the picture, None for one it does not know."""

    identity = "stand-in 1"

    def __init__(self, draw):
        pictures = Pictures.of(PHANTOM.sequence)
        self.truths = {pictures[frame].tobytes(): truth for frame, truth in enumerate(PHANTOM.truth)}
        self.draw, self.encoded = draw, 0

    def encode(self, picture):
        self.encoded += 1
        return {"picture": picture}

    def ask(self, encoded, size, prompts):
        truth = self.truths.get(encoded["picture"].tobytes())
        return [Answer(np.where(self.draw(prompt, truth), 8.0, -8.0)[np.newaxis], np.ones(1)) for prompt in prompts]


def fill(box):
    if box is None:
        return np.zeros(PHANTOM.truth.shape[1:], bool)
    rows, columns = np.indices(PHANTOM.truth.shape[1:])
    return (rows >= box.top) & (rows < box.bottom) & (columns >= box.left) & (columns < box.right)


def know(prompt, truth):
    return fill(prompt.box) if truth is None else truth


def echo(prompt, truth):
    return fill(prompt.box)


def turn_round(prompt, truth):
    return fill(prompt.box) if truth is None else ~truth


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Puts a stand-in in the place of the model called small; returns it."""
    monkeypatch.setenv("FEWPOINT_MODELS", str(tmp_path / "models"))
    for name in ("first", "second"):
        (tmp_path / name).write_bytes(name.encode())
    store.add_own((tmp_path / "first", tmp_path / "second"), "sam2-tiny", "small")

    def place(draw):
        model = StandIn(draw)
        monkeypatch.setattr(witnessing, "load_promptable", lambda name, **options: model)
        return model

    return place


def make_task(witness="", **changes):
    options = {"settings": SETTINGS, "seed": 0, "device": "cpu", "witness": witness, **changes}
    return Task(PHANTOM.sequence, PHANTOM.points, AreaBound(0.25), **options)


def run_telling(task):
    """The result, and what was said about the witness."""
    told = []
    result = run_task(task, listener=lambda event: told.append(event.text) if isinstance(event, Message) else None)
    return result, [text for text in told if text.startswith("witness")]


def score(masks):
    return 2 * (masks & PHANTOM.truth).sum() / (masks.sum() + PHANTOM.truth.sum())


@pytest.fixture(scope="module")
def alone():
    return run_task(make_task())


def test_a_witness_that_knows_the_object_makes_masks_better_where_it_is_believed(call):
    """Whether it is depends on what networks found, and so on the seed and the processor."""
    model, gains = call(know), []
    for seed in range(4):
        plain, (result, (told,)) = run_task(make_task(seed=seed)), run_telling(make_task("small", seed=seed))
        gain = score(result.masks) - score(plain.masks)
        gains += [gain] if ": believed on" in told else []
    assert gains and max(gains) > 0.05 and min(gains) >= 0
    assert model.encoded == 5 + 1  # each frame once, though it was asked about in two stages, and an empty picture


@pytest.mark.parametrize("lie", [echo, turn_round])
def test_a_witness_that_lies_leaves_every_pixel_and_probability_as_it_was(call, alone, lie):
    call(lie)
    result, (told,) = run_telling(make_task("small"))
    assert "not believed" in told
    np.testing.assert_array_equal(result.masks, alone.masks)
    np.testing.assert_array_equal(result.probabilities.values, alone.probabilities.values)


def test_a_model_of_photographs_is_not_asked_about_frames_without_colours(call, alone, monkeypatch):
    model, own = call(know), store.find_model("small")
    monkeypatch.setattr(witnessing, "find_model", lambda name: replace(own, photographs=True))
    result, (told,) = run_telling(make_task("small"))
    assert "not run, it was trained on photographs" in told
    assert model.encoded == 0
    np.testing.assert_array_equal(result.masks, alone.masks)


def test_another_run_on_the_same_frames_encodes_nothing(call):
    call(know)
    run_task(make_task("small"))
    again = call(know)
    run_task(make_task("small", seed=1))
    assert again.encoded == 0


def test_clicks_negatives_and_outlined_frames_hold_whatever_the_witness_says(call):
    call(know)
    negative = tuple(int(place) for place in np.argwhere(PHANTOM.truth[2])[0])
    from fewpoint.core.run_lengths import encode_mask

    drawn = np.zeros(PHANTOM.truth.shape[1:], bool)
    drawn[20:30, 20:40] = True
    points = replace(PHANTOM.points, negatives=np.array([(2, *negative)]))
    words = (("", Words(outlined={4: encode_mask(drawn)})),)
    result = run_task(replace(make_task("small"), points=points, words=words))
    assert not result.masks[(2, *negative)]
    assert result.masks[tuple(PHANTOM.points.coordinates[:4].T)].all()
    np.testing.assert_array_equal(result.masks[4], drawn)


def test_the_witness_is_part_of_a_run_s_identity(call):
    plain, asked = make_task().identity(), make_task("small").identity()
    assert plain.witness == "none" and asked.witness.startswith("small ")
    assert replace(asked, witness="none") == plain


def test_a_witness_must_be_installed_and_masks_cut_by_pixels(call):
    with pytest.raises(InputError, match=r"is not installed in .* run fewpoint models fetch sam2-tiny"):
        make_task("sam2-tiny")
    with pytest.raises(InputError, match="no model is called"):
        make_task("unknown")
    with pytest.raises(InputError, match="refines masks of accurate and fast"):
        make_task("small", settings=TINY_PAPER)
