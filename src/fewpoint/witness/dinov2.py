"""DINOv2 features (Oquab et al., 2023) of a picture, from a network that is cut down to its backbone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.errors import InputError
from fewpoint.io.extras import need
from fewpoint.witness.pictures import standardise, stretch
from fewpoint.witness.sessions import open_session

PATCH = 14  # pixels on a side of one feature
SIDE = 448
NORMED = "backbone/layernorm/Add_1_output_0"  # of the last layer, before any head
OUTPUT = "features"


@dataclass(frozen=True, eq=False)
class DinoV2:
    """session: takes (1, 3, h, w) and gives (1, 1 + h w / 196, D), the first of them for the picture as a whole."""

    identity: str
    session: Any

    @classmethod
    def load(cls, files: tuple[Path, ...], identity: str, threads: int = 0) -> "DinoV2":
        return cls(identity, open_session(cut_to_features(files[0].read_bytes()), threads))

    def describe(self, picture: np.ndarray) -> np.ndarray:
        """(h, w, D) float32, each of length 1; the longer side of the picture is 32 features."""
        rows, columns = (max(1, round(side * SIDE / max(picture.shape[:2]) / PATCH)) for side in picture.shape[:2])
        shown = standardise(stretch(picture, (PATCH * rows, PATCH * columns)))
        (values,) = self.session.run(None, {self.session.get_inputs()[0].name: shown})
        features = values[0, 1:].reshape(rows, columns, -1)
        return features / np.maximum(np.linalg.norm(features, axis=-1, keepdims=True), 1e-6)


def cut_to_features(network: bytes) -> bytes:
    """The network up to the features of its backbone, for pictures of any size: what comes after is left out."""
    onnx = need("onnx", "witness", "a pretrained model needs")
    try:
        model = onnx.load_model_from_string(network)
    except Exception as error:  # protobuf's own errors
        raise InputError("a feature model must be an ONNX file; fetch it again") from error
    makers = {output: node for node in model.graph.node for output in node.output}
    ends = [name for name in makers if name.strip("/") == NORMED]
    if not ends:
        raise InputError(f"a feature model must have the normed features of a backbone, no node makes {NORMED}")
    wanted, kept = [ends[0]], set()
    while wanted:
        name = wanted.pop()
        if name in makers and id(makers[name]) not in kept:
            kept.add(id(makers[name]))
            wanted += makers[name].input
    nodes = [node for node in model.graph.node if id(node) in kept]
    nodes.append(onnx.helper.make_node("Identity", [ends[0]], [OUTPUT]))
    used = {name for node in nodes for name in node.input}
    kind = onnx.TensorProto.FLOAT
    shown = onnx.helper.make_tensor_value_info(model.graph.input[0].name, kind, ["n", 3, "height", "width"])
    given = onnx.helper.make_tensor_value_info(OUTPUT, kind, None)
    weights = [each for each in model.graph.initializer if each.name in used]
    graph = onnx.helper.make_graph(nodes, "features", [shown], [given], weights)
    cut = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return cut.SerializeToString()
