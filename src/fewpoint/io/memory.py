"""How much memory this process has taken at most."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PeakMemory:
    """Largest memory so far, in MiB: of the process, and allocated on the GPU, None if none was used."""

    process_mb: float = 0.0
    cuda_mb: float | None = None

    def or_more(self, other: "PeakMemory") -> "PeakMemory":
        """The larger of both, each for itself.

        >>> PeakMemory(100.0).or_more(PeakMemory(90.0, 7.0))
        PeakMemory(process_mb=100.0, cuda_mb=7.0)
        """
        known = [value for value in (self.cuda_mb, other.cuda_mb) if value is not None]
        return PeakMemory(max(self.process_mb, other.process_mb), max(known, default=None))

    def describe(self) -> str:
        """
        >>> PeakMemory(812.3, 1536.0).describe()
        '812 MiB, and 1536 MiB on the GPU'
        """
        on_gpu = "" if self.cuda_mb is None else f", and {self.cuda_mb:.0f} MiB on the GPU"
        return f"{self.process_mb:.0f} MiB{on_gpu}"


def measure_peak() -> PeakMemory:
    """The peak of this process so far, children not counted."""
    return PeakMemory(_measure_process(), _measure_cuda())


def _measure_process() -> float:
    status = Path("/proc/self/status")
    text = status.read_text() if status.exists() else ""
    # Linux: there ru_maxrss begins at what the process that started this one held.
    if found := re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE):
        return float(found[1]) / 2**10
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / (2**20 if sys.platform == "darwin" else 2**10)


def _measure_cuda() -> float | None:
    """Asks torch only if it is loaded already."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return torch.cuda.max_memory_allocated() / 2**20
