"""Frames are encoded once a model and picture, and what is kept stays within its limit."""

import os

import numpy as np
import pytest

from fewpoint.core import ImageSequence
from fewpoint.errors import InputError
from fewpoint.witness.encoding import EncodedFrames, EncodedStore, Pictures, describe_frames
from fewpoint.witness.models import Answer, Prompt

BYTES = 4096  # of an encoded frame


class Counting:
    """A model that counts how often it encodes, and answers with the mean of what it has encoded."""

    def __init__(self, identity="counting 1"):
        self.identity, self.encoded = identity, 0

    def encode(self, picture):
        self.encoded += 1
        return {"mean": np.full(BYTES // 4, picture.mean(), np.float32)}

    def ask(self, encoded, size, prompts):
        return [Answer(np.full((1, *size), encoded["mean"][0]), np.ones(1)) for _ in prompts]

    def describe(self, picture):
        self.encoded += 1
        return np.full((2, 2, 3), picture.mean())


def make_sequence(count=4):
    values = np.arange(count, dtype=np.uint8)[:, np.newaxis, np.newaxis] * np.ones((1, 6, 8), np.uint8)
    return ImageSequence.from_array(values)


def ask_all(model, store, sequence):
    frames = EncodedFrames(sequence, model, store)
    means = [float(frames.ask(frame, [Prompt()])[0].best[0, 0]) for frame in range(len(frames))]
    frames.close()
    return means


def test_a_second_run_encodes_nothing_and_answers_the_same(tmp_path):
    first, second, store = Counting(), Counting(), EncodedStore(tmp_path, 10 * BYTES)
    expected = [0, 1 / 3, 2 / 3, 1]
    np.testing.assert_allclose(ask_all(first, store, make_sequence()), expected, rtol=1e-6)
    np.testing.assert_allclose(ask_all(second, store, make_sequence()), expected, rtol=1e-6)
    assert (first.encoded, second.encoded) == (4, 0)


def test_other_weights_and_other_frames_are_encoded_anew(tmp_path):
    store = EncodedStore(tmp_path, 20 * BYTES)
    ask_all(Counting(), store, make_sequence())
    other, more = Counting("counting 2"), Counting()
    ask_all(other, store, make_sequence())
    ask_all(more, store, ImageSequence.from_array(make_sequence().frames ** 2))
    assert (other.encoded, more.encoded) == (4, 4 - 2)  # black and white are as they were


def test_what_is_kept_stays_within_the_limit_and_the_longest_unused_goes_first(tmp_path):
    store = EncodedStore(tmp_path, int(2.5 * BYTES))
    for number, key in enumerate("abc"):
        store.obtain(key, lambda: {"values": np.zeros(BYTES // 4 - 128, np.float32)})
        os.utime(tmp_path / f"{key}.npz", (number, number))
        if key == "b":
            os.utime(tmp_path / "a.npz", (9, 9))
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "c"]


def test_without_room_every_frame_is_encoded_when_asked_for(tmp_path):
    model = Counting()
    ask_all(model, EncodedStore(tmp_path / "none", 0), make_sequence())
    assert model.encoded == 4
    assert not (tmp_path / "none").exists()


def test_a_damaged_file_is_made_again(tmp_path):
    store = EncodedStore(tmp_path, 10 * BYTES)
    ask_all(Counting(), store, make_sequence(1))
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    model = Counting()
    ask_all(model, store, make_sequence(1))
    assert model.encoded == 1


def test_features_are_kept_too(tmp_path):
    first, second, store = Counting(), Counting(), EncodedStore(tmp_path, 10 * BYTES)
    features = describe_frames(make_sequence(), first, store)
    assert [each.shape for each in features] == [(2, 2, 3)] * 4
    again = describe_frames(make_sequence(), second, store)
    np.testing.assert_allclose(again, features, atol=1e-3)
    assert (first.encoded, second.encoded) == (4, 0)


@pytest.mark.parametrize("given", ["-1", "much", "inf"])
def test_a_limit_must_be_a_number_of_gigabytes(monkeypatch, given):
    monkeypatch.setenv("FEWPOINT_ENCODED_GB", given)
    with pytest.raises(InputError, match="must be a number of gigabytes"):
        EncodedStore.usual()


@pytest.mark.parametrize("tint", [0.0, 0.2])
def test_frames_have_colours_if_their_channels_differ(tint):
    grey = np.random.default_rng(0).uniform(size=(3, 8, 9, 1))
    frames = np.concatenate([grey, grey * (1 - tint), grey], axis=-1).astype(np.float32)
    assert Pictures.of(ImageSequence.from_array(frames)).have_colours() is (tint > 0)
    assert not Pictures.of(ImageSequence.from_array(frames[..., :1])).have_colours()
