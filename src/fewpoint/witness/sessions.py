"""Networks in ONNX or ORT files, run by onnxruntime: on a GPU if its build can, else on the cores."""

from pathlib import Path
from typing import Any

from fewpoint.core.threads import free_cores
from fewpoint.errors import InputError
from fewpoint.io.extras import need

CUDA = "CUDAExecutionProvider"


def find_gpu() -> bool:
    """Whether there is a GPU that torch can use."""
    import torch

    return torch.cuda.is_available()


def open_network(path: Path, threads: int = 0, on_gpu: bool = False) -> Any:
    """A session, or if there is a GPU that onnxruntime's build cannot use, what torch makes of the file there."""
    runtime = need("onnxruntime", "witness", "a pretrained model needs")
    if not on_gpu or CUDA in runtime.get_available_providers():
        return open_session(path, threads)
    import torch

    from fewpoint.witness.torch_graph import TorchGraph

    return TorchGraph.load(path, torch.device("cuda"))


def open_session(content: Path | bytes, threads: int = 0) -> Any:
    """An onnxruntime session. threads: 0 for as many as there are cores."""
    runtime = need("onnxruntime", "witness", "a pretrained model needs")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads or free_cores()
    options.log_severity_level = 3
    known = runtime.get_available_providers()
    providers = [name for name in (CUDA, "CPUExecutionProvider") if name in known]
    try:
        return runtime.InferenceSession(content, options, providers=providers)
    except Exception as error:  # onnxruntime's own errors have no common base
        name = content if isinstance(content, Path) else "it"
        raise InputError(f"onnxruntime cannot load the model, {name}: {error}; check the file") from error
