"""Networks in ONNX files run by torch, for a GPU that onnxruntime cannot use: the operations of SAM 2's encoder.

A file in onnxruntime's own format is first turned into ONNX, by onnxruntime.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from fewpoint.errors import InputError
from fewpoint.io.extras import need

LAST = 2**31  # an end of a slice that means the end of the axis


class Port(NamedTuple):
    """An input or output of a graph."""

    name: str
    shape: tuple[int, ...]


class Step(NamedTuple):
    """One operation: its name, settings, and what it takes and gives by name."""

    kind: str
    settings: dict[str, Any]
    takes: tuple[str, ...]
    gives: tuple[str, ...]


class TorchGraph:
    """A network with the calls of an onnxruntime session; computes in `precision` on a device."""

    def __init__(self, model: Any, device: torch.device, precision: torch.dtype = torch.float32) -> None:
        onnx = need("onnx", "witness", "a pretrained model needs")
        graph = model.graph
        self._device, self._precision = device, precision
        self._weights = {each.name: self._keep(onnx.numpy_helper.to_array(each)) for each in graph.initializer}
        self._steps = tuple(
            Step(
                node.op_type,
                {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute},
                tuple(node.input),
                tuple(node.output),
            )
            for node in graph.node
        )
        unknown = sorted({step.kind for step in self._steps} - OPERATIONS.keys())
        if unknown:
            raise InputError(f"torch cannot run a network with {', '.join(unknown)}; install onnxruntime for the GPU")
        self._inputs, self._outputs = (
            tuple(
                Port(each.name, tuple(side.dim_value for side in each.type.tensor_type.shape.dim))
                for each in ports
                if each.name not in self._weights
            )
            for ports in (graph.input, graph.output)
        )

    @classmethod
    def load(cls, path: Path, device: torch.device, precision: torch.dtype = torch.float32) -> "TorchGraph":
        onnx = need("onnx", "witness", "a pretrained model needs")
        if path.suffix == ".ort":
            with tempfile.TemporaryDirectory() as folder:
                return cls(onnx.load(_convert(path, Path(folder) / "model.onnx")), device, precision)
        return cls(onnx.load(path), device, precision)

    def get_inputs(self) -> tuple[Port, ...]:
        return self._inputs

    def get_outputs(self) -> tuple[Port, ...]:
        return self._outputs

    @torch.inference_mode()
    def run(self, names: list[str] | None, given: dict[str, np.ndarray]) -> list[np.ndarray]:
        values = {**self._weights, **{name: self._keep(value) for name, value in given.items()}}
        for step in self._steps:
            made = OPERATIONS[step.kind](step.settings, *(values[name] if name else None for name in step.takes))
            values.update(zip(step.gives, made if isinstance(made, tuple | list) else (made,), strict=True))
        wanted = [port.name for port in self._outputs] if names is None else names
        return [values[name].float().cpu().numpy() for name in wanted]

    def _keep(self, value: np.ndarray) -> Tensor:
        """Numbers on the device; whole ones, which are shapes and places, stay with the processor."""
        tensor = torch.from_numpy(np.array(value))
        return tensor.to(self._device, self._precision) if tensor.is_floating_point() else tensor


def _convert(path: Path, target: Path) -> Path:
    """Turn a file of onnxruntime's own format into ONNX."""
    runtime = need("onnxruntime", "witness", "a pretrained model needs")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry("session.save_model_format", "ONNX")
    options.log_severity_level = 3
    runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return target


def _reshape(settings: dict, value: Tensor, shape: Tensor) -> Tensor:
    sides = [value.shape[axis] if side == 0 else side for axis, side in enumerate(shape.tolist())]
    return value.reshape(sides)


def _norm(settings: dict, value: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return functional.layer_norm(value, scale.shape, scale, shift, settings["epsilon"])


def _convolve(settings: dict, value: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    top, left = settings["pads"][:2]
    return functional.conv2d(value, kernel, bias, settings["strides"], (top, left), groups=settings["group"])


def _pad(settings: dict, value: Tensor, ends: Tensor, *others: Tensor | None) -> Tensor:
    before, after = ends.reshape(2, -1).tolist()
    pairs = [side for pair in reversed(list(zip(before, after, strict=True))) for side in pair]
    return functional.pad(value, pairs)


def _slice(settings: dict, value: Tensor, starts: Tensor, ends: Tensor, axes: Tensor, steps: Tensor) -> Tensor:
    places = [slice(None)] * value.ndim
    for start, end, axis, step in zip(*(each.tolist() for each in (starts, ends, axes, steps)), strict=True):
        places[axis] = slice(start, None if end >= LAST else end, step)
    return value[tuple(places)]


def _squeeze(settings: dict, value: Tensor, axes: Tensor) -> Tensor:
    return value.squeeze(tuple(axes.tolist()))


def _resize(settings: dict, value: Tensor, *how: Tensor | None) -> Tensor:
    """Nearest neighbours, to the scales or sizes that come last."""
    last = how[-1]
    if settings["mode"] != b"nearest" or last is None:
        raise InputError("torch resizes this network's features only by nearest neighbours; install onnxruntime")
    factors = last.tolist()
    sides = [round(side * factor) for side, factor in zip(value.shape, factors, strict=True)]
    return functional.interpolate(value, [int(side) for side in (sides if len(how) == 2 else factors)[2:]])


OPERATIONS: dict[str, Callable[..., Any]] = {
    "Add": lambda settings, one, other: one + other,
    "Conv": _convolve,
    "Div": lambda settings, one, other: one / other,
    "Erf": lambda settings, value: torch.erf(value),
    "LayerNormalization": _norm,
    "MatMul": lambda settings, one, other: one @ other,
    "MaxPool": lambda settings, value: functional.max_pool2d(value, settings["kernel_shape"], settings["strides"]),
    "Mul": lambda settings, one, other: one * other,
    "Pad": _pad,
    "Reshape": _reshape,
    "Resize": _resize,
    "Slice": _slice,
    "Softmax": lambda settings, value: value.softmax(settings["axis"]),
    "Split": lambda settings, value, sizes: value.split(sizes.tolist(), settings["axis"]),
    "Squeeze": _squeeze,
    "Transpose": lambda settings, value: value.permute(*settings["perm"]),
}
