"""Networks in ONNX files run by torch, for a GPU that onnxruntime cannot use: the operations of SAM 2.

What a file says is first put in plain terms by onnxruntime, once: in ONNX if it is in onnxruntime's own format, and
with all that does not depend on the input worked out.
"""

import hashlib
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from fewpoint.errors import InputError, OutputError
from fewpoint.io.atomic import write_atomically
from fewpoint.io.extras import need
from fewpoint.witness.store import hash_file, models_folder

PLAIN_FOLDER = "plain"

CASTS = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool}  # ONNX's numbers of types
LAST = 2**31  # an end of a slice that means the end of the axis


class Port(NamedTuple):
    """An input or output of a graph."""

    name: str
    shape: tuple[int, ...]


class Step(NamedTuple):
    """One operation: its name, settings, what it takes and gives by name, and what nothing takes after it."""

    kind: str
    settings: dict[str, Any]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    frees: frozenset[str]


class TorchGraph:
    """A network with the calls of an onnxruntime session; computes in `precision` on a device, one call at a time."""

    def __init__(self, model: Any, device: torch.device, precision: torch.dtype = torch.float32) -> None:
        onnx = need("onnx", "witness", "a pretrained model needs")
        graph = model.graph
        self._device, self._precision, self._turn = device, precision, threading.Lock()
        self._own: dict[str, Callable[..., Any]] = {"Cast": self._cast, "ConstantOfShape": self._fill}
        self._weights = {each.name: self._keep(onnx.numpy_helper.to_array(each)) for each in graph.initializer}
        last = {name: number for number, node in enumerate(graph.node) for name in (*node.output, *node.input)}
        self._steps = tuple(
            Step(
                node.op_type,
                {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute},
                tuple(node.input),
                tuple(node.output),
                frozenset(name for name in (*node.input, *node.output) if last[name] == number),
            )
            for number, node in enumerate(graph.node)
        )
        unknown = sorted({step.kind for step in self._steps} - OPERATIONS.keys() - self._own.keys())
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
        try:
            model = onnx.load_model_from_string(obtain_plain(path))
        except Exception as error:  # those of protobuf and onnxruntime have no common base
            raise InputError(f"torch cannot load the model, {path}: {error}; check the file") from error
        return cls(model, device, precision)

    def get_inputs(self) -> tuple[Port, ...]:
        return self._inputs

    def get_outputs(self) -> tuple[Port, ...]:
        return self._outputs

    def run(self, names: list[str] | None, given: dict[str, np.ndarray]) -> list[np.ndarray]:
        wanted = [port.name for port in self._outputs] if names is None else names
        with self._turn, torch.inference_mode():  # what one call holds on a GPU is enough
            values = {**self._weights, **{name: self._keep(value) for name, value in given.items()}}
            for step in self._steps:
                work = self._own.get(step.kind) or OPERATIONS[step.kind]
                made = work(step.settings, *(values[name] if name else None for name in step.takes))
                values.update(zip(step.gives, made if isinstance(made, tuple | list) else (made,), strict=True))
                for name in step.frees.difference(wanted):
                    values.pop(name, None)
                del made
            return [values[name].float().cpu().numpy() for name in wanted]

    def _cast(self, settings: dict, value: Tensor) -> Tensor:
        kind = CASTS[settings["to"]]
        return value.to(self._device, self._precision) if kind is torch.float32 else value.cpu().to(kind)

    def _fill(self, settings: dict, shape: Tensor) -> Tensor:
        onnx = need("onnx", "witness", "a pretrained model needs")
        value = onnx.numpy_helper.to_array(settings["value"]) if "value" in settings else np.zeros(1, np.float32)
        return self._keep(np.full(shape.tolist(), value[0]))

    def _keep(self, value: np.ndarray) -> Tensor:
        """Numbers on the device; whole ones, which are shapes and places, stay with the processor."""
        tensor = torch.from_numpy(np.array(value))
        return tensor.to(self._device, self._precision) if tensor.is_floating_point() else tensor


def obtain_plain(path: Path) -> bytes:
    """The network of a file in plain ONNX, worked out once and then kept among the models under its hashes."""
    folder = models_folder() / PLAIN_FOLDER
    source = hash_file(path)[:16]
    for kept in folder.glob(f"{source}-*.onnx"):
        content = kept.read_bytes()
        if kept.stem == f"{source}-{hashlib.sha256(content).hexdigest()}":
            return content
    with tempfile.TemporaryDirectory() as temporary:
        content = _make_plain(path, Path(temporary) / "model.onnx").read_bytes()
    with suppress(OutputError, OSError):  # without room on the disk it is worked out again next time
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"{source}-{hashlib.sha256(content).hexdigest()}.onnx"
        write_atomically(place, lambda stream: stream.write(content))
    return content


def _make_plain(path: Path, target: Path) -> Path:
    runtime = need("onnxruntime", "witness", "a pretrained model needs")
    levels, options = runtime.GraphOptimizationLevel, runtime.SessionOptions()
    own = path.suffix == ".ort"  # such a file has all of it worked out
    options.graph_optimization_level = levels.ORT_DISABLE_ALL if own else levels.ORT_ENABLE_BASIC
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


def _slice(
    settings: dict,
    value: Tensor,
    starts: Tensor,
    ends: Tensor,
    axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Tensor:
    places = [slice(None)] * value.ndim
    axes = torch.arange(len(starts)) if axes is None else axes
    steps = torch.ones(len(starts), dtype=torch.int64) if steps is None else steps
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


def _gather(settings: dict, value: Tensor, places: Tensor) -> Tensor:
    axis = settings.get("axis", 0) % value.ndim
    return value[(slice(None),) * axis + (places,)]


def _unsqueeze(settings: dict, value: Tensor, axes: Tensor) -> Tensor:
    ndim = value.ndim + len(axes)
    for axis in sorted(axis % ndim for axis in axes.tolist()):
        value = value.unsqueeze(axis)
    return value


def _scatter(settings: dict, value: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    result = value.clone()
    result[tuple(places.unbind(-1))] = updates
    return result


def _one_hot(settings: dict, places: Tensor, depth: Tensor, values: Tensor) -> Tensor:
    """Along a new last axis: the second of two values at the place, the first elsewhere."""
    hot = functional.one_hot(places, int(depth)).bool()
    return torch.where(hot.to(values.device), values[1], values[0])


def _multiply_matrices(settings: dict, one: Tensor, other: Tensor, bias: Tensor | None = None) -> Tensor:
    one, other = (
        value.transpose(0, 1) if settings.get(name) else value for name, value in (("transA", one), ("transB", other))
    )
    product = settings.get("alpha", 1.0) * (one @ other)
    return product if bias is None else product + settings.get("beta", 1.0) * bias


def _widen(settings: dict, value: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.conv_transpose2d(value, kernel, bias, settings["strides"], groups=settings["group"])


def _expand(settings: dict, value: Tensor, shape: Tensor) -> Tensor:
    return value.expand(torch.broadcast_shapes(value.shape, shape.tolist()))


def _divide(settings: dict, one: Tensor, other: Tensor) -> Tensor:
    return one / other if one.is_floating_point() else torch.div(one, other, rounding_mode="trunc")


OPERATIONS: dict[str, Callable[..., Any]] = {
    "Add": lambda settings, one, other: one + other,
    "Clip": lambda settings, value, least, most: value.clamp(float(least), float(most)),
    "Concat": lambda settings, *values: torch.cat(values, settings["axis"]),
    "Conv": _convolve,
    "ConvTranspose": _widen,
    "Cos": lambda settings, value: torch.cos(value),
    "Div": _divide,
    "Equal": lambda settings, one, other: one == other,
    "Erf": lambda settings, value: torch.erf(value),
    "Expand": _expand,
    "Gather": _gather,
    "Gemm": _multiply_matrices,
    "LayerNormalization": _norm,
    "MatMul": lambda settings, one, other: one @ other,
    "MaxPool": lambda settings, value: functional.max_pool2d(value, settings["kernel_shape"], settings["strides"]),
    "Mul": lambda settings, one, other: one * other,
    "Neg": lambda settings, value: -value,
    "Not": lambda settings, value: ~value,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Pow": lambda settings, one, other: one**other,
    "Range": lambda settings, start, end, step: torch.arange(start.item(), end.item(), step.item()),
    "ReduceMean": lambda settings, value: value.mean(settings["axes"], keepdim=bool(settings.get("keepdims", 1))),
    "Relu": lambda settings, value: value.relu(),
    "Reshape": _reshape,
    "Resize": _resize,
    "ScatterND": _scatter,
    "Shape": lambda settings, value: torch.tensor(value.shape),
    "Sigmoid": lambda settings, value: value.sigmoid(),
    "Sin": lambda settings, value: torch.sin(value),
    "Slice": _slice,
    "Softmax": lambda settings, value: value.softmax(settings["axis"]),
    "Split": lambda settings, value, sizes: value.split(sizes.tolist(), settings["axis"]),
    "Sqrt": lambda settings, value: value.sqrt(),
    "Squeeze": _squeeze,
    "Sub": lambda settings, one, other: one - other,
    "Tile": lambda settings, value, times: value.repeat(times.tolist()),
    "Transpose": lambda settings, value: value.permute(*settings["perm"]),
    "Unsqueeze": _unsqueeze,
    "Where": lambda settings, condition, one, other: torch.where(condition, one, other),
}
