"""A network that torch runs gives what onnxruntime gives."""

import numpy as np
import pytest
import torch

from fewpoint.errors import InputError
from fewpoint.witness import store
from fewpoint.witness.sessions import open_session
from fewpoint.witness.torch_graph import TorchGraph
from witness_stand_ins import FLOAT, NODE, VALUE, save_network, save_sam2

CPU = torch.device("cpu")


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


def test_every_operation_gives_what_onnxruntime_gives(tmp_path):
    path = save_every_operation(tmp_path / "network.onnx")
    picture = np.random.default_rng(1).normal(size=(1, 2, 8, 12)).astype(np.float32)
    graph = TorchGraph.load(path, CPU)
    (expected,), (found,) = (each.run(None, {"image": picture}) for each in (open_session(path), graph))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert [(port.name, port.shape) for port in graph.get_inputs()] == [("image", (1, 2, 8, 12))]


def test_a_network_with_other_operations_is_refused(tmp_path):
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
