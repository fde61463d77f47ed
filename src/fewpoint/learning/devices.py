"""Which device to compute on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

from fewpoint.errors import DeviceError

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str) -> torch.device:
    """The requested device, or with "auto" the fastest available."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if available[kind])
    if name not in available:
        raise DeviceError(f"device must be one of {', '.join(DEVICES)}, got {name}")
    if not available[name]:
        raise DeviceError(f"device {name} is not available on this machine; use --device auto or cpu")
    return torch.device(name)


@contextmanager
def cpu_threads(count: int) -> Iterator[None]:
    """Give torch this many threads within the block; 0 leaves it as it is."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def start_threads(count: int) -> ThreadPoolExecutor:
    """A pool of this many threads, in each of which torch uses as many threads as in the calling one."""
    return ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(torch.get_num_threads(),))


def computes_mixed(device: torch.device) -> bool:
    """Whether the device is faster in bfloat16: CUDA devices are, and CPUs with instructions for it."""
    return device.type == "cuda" or (device.type == "cpu" and torch.cpu._is_avx512_bf16_supported())


def describe_device(device: torch.device) -> str:
    """One line for the manifest and the report."""
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    return f"{device.type} ({torch.get_num_threads()} threads)" if device.type == "cpu" else device.type
