"""Tiny networks in the form of pretrained ones, made with ONNX nodes, whose answers are known exactly.

The object of these networks is what is brighter than the mean photograph inside the box that they are asked with.
"""

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

SIDE, LOW = 64, 16
NODE, VALUE, FLOAT = onnx.helper.make_node, onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT


def save_sam2(folder: Path) -> tuple[Path, Path]:
    """An encoder that keeps a coarse grey picture, and a decoder with SAM 2's inputs, outputs and three masks."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = [
        NODE("ReduceMean", ["image"], ["grey"], axes=[1], keepdims=1),
        NODE("AveragePool", ["grey"], ["image_embed"], kernel_shape=[SIDE // LOW] * 2, strides=[SIDE // LOW] * 2),
    ]
    ends = [VALUE("image", FLOAT, [1, 3, SIDE, SIDE]), VALUE("image_embed", FLOAT, [1, 1, LOW, LOW])]
    save_network(folder / "encoder.onnx", encoder, ends[:1], ends[1:], {})
    centres = (np.arange(LOW, dtype=np.float32) + 0.5) * SIDE / LOW
    constants = {
        "columns": np.broadcast_to(centres, (1, 1, LOW, LOW)).copy(),
        "rows": np.broadcast_to(centres[:, np.newaxis], (1, 1, LOW, LOW)).copy(),
        "first": np.array(0),
        "second": np.array(1),
        "last": np.array(-1),
        "two": np.float32(2),
        "reach": np.float32(SIDE / 4),
        "places": np.array([-1, 1, 1, 1]),
        "sure": np.float32(10),
        "outside": np.float32(-10),
        "own": np.array([[0.1, 0.9, 0.5]], np.float32),
        "zero": np.float32(0),
    }
    nodes = [  # round a click without a box, a guess
        NODE("Shape", ["point_labels"], ["sides"]),
        NODE("Gather", ["sides", "second"], ["count"], axis=0),
        NODE("Cast", ["count"], ["number"], to=FLOAT),
        NODE("Sub", ["two", "number"], ["missing"]),
        NODE("Relu", ["missing"], ["lone"]),
        NODE("Mul", ["lone", "reach"], ["margin"]),
    ]
    for corner, place, move in (("first", "first", "Sub"), ("second", "last", "Add")):
        nodes.append(NODE("Gather", ["point_coords", place], [f"{corner}_corner"], axis=1))
        for axis, name in (("first", "x"), ("second", "y")):
            nodes.append(NODE("Gather", [f"{corner}_corner", axis], [f"{corner}_{name}_flat"], axis=1))
            nodes.append(NODE("Reshape", [f"{corner}_{name}_flat", "places"], [f"{corner}_{name}_given"]))
            nodes.append(NODE(move, [f"{corner}_{name}_given", "margin"], [f"{corner}_{name}"]))
    for name, grid in (("x", "columns"), ("y", "rows")):
        nodes.append(NODE("GreaterOrEqual", [grid, f"first_{name}"], [f"after_{name}"]))
        nodes.append(NODE("Less", [grid, f"second_{name}"], [f"before_{name}"]))
        nodes.append(NODE("And", [f"after_{name}", f"before_{name}"], [f"inside_{name}"]))
    nodes += [
        NODE("And", ["inside_x", "inside_y"], ["inside"]),
        NODE("Mul", ["image_embed", "sure"], ["bright"]),
        NODE("Where", ["inside", "bright", "outside"], ["object"]),
        NODE("Where", ["inside", "sure", "outside"], ["whole_box"]),
        NODE("Mul", ["object", "zero"], ["nothing_yet"]),
        NODE("Add", ["nothing_yet", "outside"], ["nothing"]),
        NODE("Concat", ["nothing", "object", "whole_box"], ["masks"], axis=1),
        NODE("ReduceSum", ["point_labels", "one"], ["labels"], keepdims=1),
        NODE("Mul", ["labels", "zero"], ["none"]),
        NODE("Add", ["none", "own"], ["iou_predictions"]),
    ]
    constants["one"] = np.array([1])
    inputs = [
        VALUE("image_embed", FLOAT, [1, 1, LOW, LOW]),
        VALUE("point_coords", FLOAT, ["n", "points", 2]),
        VALUE("point_labels", FLOAT, ["n", "points"]),
        VALUE("mask_input", FLOAT, ["n", 1, LOW, LOW]),
        VALUE("has_mask_input", FLOAT, [1]),
    ]
    outputs = [VALUE("masks", FLOAT, ["n", 3, LOW, LOW]), VALUE("iou_predictions", FLOAT, ["n", 3])]
    save_network(folder / "decoder.onnx", nodes, inputs, outputs, constants)
    return folder / "encoder.onnx", folder / "decoder.onnx"


def save_features(path: Path) -> Path:
    """A network whose normed features are the mean colour of each patch, after one token for the whole picture."""
    nodes = [
        NODE("AveragePool", ["input_image"], ["patches"], kernel_shape=[14, 14], strides=[14, 14]),
        NODE("Flatten", ["patches"], ["flat"], axis=2),
        NODE("Reshape", ["flat", "shape"], ["tokens"]),
        NODE("Transpose", ["tokens"], ["listed"], perm=[0, 2, 1]),
        NODE("ReduceMean", ["listed"], ["whole"], axes=[1], keepdims=1),
        NODE("Concat", ["whole", "listed"], ["/backbone/layernorm/Add_1_output_0"], axis=1),
        NODE("Sigmoid", ["/backbone/layernorm/Add_1_output_0"], ["output"]),
        NODE("Relu", ["unused"], ["left_out"]),
    ]
    constants = {"shape": np.array([1, 3, -1]), "unused": np.zeros(3, np.float32)}
    ends = [VALUE("input_image", FLOAT, [1, 3, 224, 224]), VALUE("output", FLOAT, None)]
    save_network(path, nodes, ends[:1], ends[1:], constants)
    return path


def save_network(path: Path, nodes: list, inputs: list, outputs: list, constants: dict, opset: int = 13) -> None:
    weights = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = onnx.helper.make_graph(nodes, path.stem, inputs, outputs, weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
