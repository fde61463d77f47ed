"""A network that torch runs gives what onnxruntime gives."""

import numpy as np
import pytest
import torch

from fewpoint.errors import InputError
from fewpoint.witness import store, torch_graph
from fewpoint.witness.sessions import open_session
from fewpoint.witness.torch_graph import TorchGraph, obtain_plain
from witness_stand_ins import FLOAT, NODE, VALUE, onnx, save_network, save_sam2

CPU = torch.device("cpu")


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Of models, so that nothing is left in the user's."""
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "models"))


def save_every_operation(path):
    """A small network with each of the operations, on a picture (1, 2, 8, 12)."""
    random = np.random.default_rng(0)
    constants = {
        "kernel": random.normal(size=(4, 2, 3, 3)).astype(np.float32),
        "bias": random.normal(size=4).astype(np.float32),
        "scale": random.normal(size=4).astype(np.float32),
        "shift": random.normal(size=4).astype(np.float32),
        "mixing": random.normal(size=(4, 6)).astype(np.float32),
        "ends": np.array([0, 0, 0, 0, 0, 2, 1, 0]),
        "starts": np.array([1, 0]),
        "stops": np.array([2**62, 5]),
        "axes": np.array([1, 2]),
        "steps": np.array([1, 2]),
        "parts": np.array([2, 4]),
        "rows": np.array([1, 0, -1, 2]),
        "lone": np.array([0]),
        "factors": np.array([1, 1, 2, 2], np.float32),
        "half": np.float32(0.5),
    }
    nodes = [
        NODE("Conv", ["image", "kernel", "bias"], ["seen"], strides=[1, 1], pads=[1, 1, 1, 1], group=1),
        NODE("MaxPool", ["seen"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        NODE("Resize", ["pooled", "", "factors"], ["large"], mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"),
        NODE("Transpose", ["large"], ["moved"], perm=[0, 2, 3, 1]),
        NODE("LayerNormalization", ["moved", "scale", "shift"], ["normed"], epsilon=1e-5, axis=-1),
        NODE("Pad", ["normed", "ends"], ["padded"], mode="constant"),
        NODE("Slice", ["padded", "starts", "stops", "axes", "steps"], ["cut"]),
        NODE("MatMul", ["cut", "mixing"], ["mixed"]),
        NODE("Split", ["mixed", "parts"], ["first", "second"], axis=3),
        NODE("Reshape", ["second", "rows"], ["flat"]),
        NODE("Squeeze", ["flat", "lone"], ["lower"]),
        NODE("Erf", ["lower"], ["bent"]),
        NODE("Mul", ["bent", "half"], ["halved"]),
        NODE("Div", ["halved", "half"], ["whole"]),
        NODE("Add", ["whole", "half"], ["raised"]),
        NODE("Softmax", ["raised"], ["features"], axis=-1),
    ]  # fmt: skip
    ends = [VALUE("image", FLOAT, [1, 2, 8, 12]), VALUE("features", FLOAT, None)]
    save_network(path, nodes, ends[:1], ends[1:], constants, opset=17)
    return path


def test_every_operation_gives_what_onnxruntime_gives(tmp_path, own_folder):
    path = save_every_operation(tmp_path / "network.onnx")
    picture = np.random.default_rng(1).normal(size=(1, 2, 8, 12)).astype(np.float32)
    graph = TorchGraph.load(path, CPU)
    (expected,), (found,) = (each.run(None, {"image": picture}) for each in (open_session(path), graph))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert [(port.name, port.shape) for port in graph.get_inputs()] == [("image", (1, 2, 8, 12))]


def save_answering_operations(path):
    """A small network with each of the operations that a decoder has besides, on two rows of three."""
    random = np.random.default_rng(2)
    constants = {
        "none": np.array(0),
        "one": np.array(1),
        "first": np.array([0]),
        "last": np.array([1]),
        "twice": np.array([1, 2]),
        "pair": np.array([5, 7]),
        "square": np.array([-1, 2, 1, 2]),
        "weights": random.normal(size=(4, 3)).astype(np.float32),
        "bias": random.normal(size=4).astype(np.float32),
        "kernel": random.normal(size=(2, 3, 2, 2)).astype(np.float32),
        "row": np.array([[0.5, -0.5, 0.25]], np.float32),
        "two": np.float32(2),
        "low": np.float32(-0.4),
        "high": np.float32(0.9),
    }
    nodes = [
        NODE("Shape", ["given"], ["sides"]),
        NODE("Gather", ["sides", "none"], ["count"], axis=0),
        NODE("Range", ["none", "count", "one"], ["numbers"]),
        NODE("Unsqueeze", ["numbers", "last"], ["places"]),
        NODE("Expand", ["row", "sides"], ["rows"]),
        NODE("ScatterND", ["given", "places", "rows"], ["scattered"]),
        NODE("Equal", ["given", "scattered"], ["same"]),
        NODE("Not", ["same"], ["other"]),
        NODE("Cast", ["other"], ["otherness"], to=FLOAT),
        NODE("Cast", ["sides"], ["lengths"], to=FLOAT),
        NODE("Slice", ["lengths", "first", "last"], ["length"]),
        NODE("Sqrt", ["length"], ["root"]),
        NODE("Sub", ["given", "otherness"], ["less"]),
        NODE("Div", ["less", "root"], ["parted"]),
        NODE("Gemm", ["parted", "weights", "bias"], ["mixed"], transB=1, alpha=0.5, beta=2.0),
        NODE("Relu", ["mixed"], ["kept"]),
        NODE("Neg", ["kept"], ["turned"]),
        NODE("Sin", ["turned"], ["sine"]),
        NODE("Cos", ["mixed"], ["cosine"]),
        NODE("Concat", ["sine", "cosine"], ["waves"], axis=1),
        NODE("Reshape", ["waves", "square"], ["planes"]),
        NODE("ConvTranspose", ["planes", "kernel"], ["wide"], strides=[2, 2], group=1, kernel_shape=[2, 2]),
        NODE("Pow", ["wide", "two"], ["squares"]),
        NODE("ReduceMean", ["squares"], ["means"], axes=[1], keepdims=1),
        NODE("Sigmoid", ["means"], ["shares"]),
        NODE("Clip", ["shares", "low", "high"], ["clipped"]),
        NODE("ConstantOfShape", ["sides"], ["zeros"]),
        NODE("Where", ["same", "zeros", "given"], ["chosen"]),
        NODE("Tile", ["chosen", "twice"], ["tiled"]),
        NODE("OneHot", ["numbers", "count", "pair"], ["hot"], axis=-1),
    ]
    whole = onnx.TensorProto.INT64
    outputs = [VALUE("clipped", FLOAT, None), VALUE("tiled", FLOAT, None), VALUE("hot", whole, None)]
    save_network(path, nodes, [VALUE("given", FLOAT, ["n", 3])], outputs, constants, opset=16)
    return path


def test_every_operation_of_a_decoder_gives_what_onnxruntime_gives(tmp_path, own_folder):
    path = save_answering_operations(tmp_path / "network.onnx")
    given = {"given": np.array([[0.5, 1, -2], [0.1, -0.5, 0.25]], np.float32)}
    for expected, found in zip(
        *(each.run(None, given) for each in (open_session(path), TorchGraph.load(path, CPU))), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_network_is_put_in_plain_terms_once_and_again_if_that_is_damaged(tmp_path, own_folder, monkeypatch):
    path = save_every_operation(tmp_path / "network.onnx")
    content = obtain_plain(path)
    (kept,) = (tmp_path / "models").rglob("*.onnx")
    with monkeypatch.context() as without:
        without.setattr(torch_graph, "_make_plain", None)
        assert obtain_plain(path) == content == kept.read_bytes()
    kept.write_bytes(content[:-1])
    assert obtain_plain(path) == content == kept.read_bytes()


def test_a_network_with_other_operations_is_refused(tmp_path, own_folder):
    with pytest.raises(InputError, match="torch cannot run a network with"):
        TorchGraph.load(save_sam2(tmp_path)[1], CPU)


def test_the_real_encoder_sees_the_same_by_torch():
    model = store.find_model("sam2-tiny")
    if not store.is_installed(model):
        pytest.skip(f"sam2-tiny is not in {store.models_folder()}; run fewpoint models fetch sam2-tiny")
    path = store.place_of(model, model.files[0])
    picture = np.random.default_rng(0).normal(size=(1, 3, 1024, 1024)).astype(np.float32)
    for expected, found in zip(
        *(each.run(None, {"image": picture}) for each in (open_session(path), TorchGraph.load(path, CPU))), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-3)
