"""How long cells will take, roughly, before any of them runs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fewpoint.bench.cells import Cell
from fewpoint.bench.folder import BenchFolder
from fewpoint.bench.methods import find_settings
from fewpoint.bench.survey import Extent

# Nanoseconds of a training step per pixel of a frame, with the paper's network: an H200 (runs of `paper` at 128 to 512
# pixels, 16 and 17 November 2026), and one core of an AMD EPYC in bfloat16 (17 November 2026; 14,000 at a width of 32,
# 6,100 at 16, 3,900 at 8: in proportion to the width, about).
NANOSECONDS = {"cuda": 20.0, "cpu": 14000.0}
PAPER_WIDTH, AUTOENCODER_WIDTH = 32, 64
AUTOENCODER_COST = 2.0  # a step of the widest autoencoder, relative to one of the paper's network
FRAME_SECONDS = 0.5  # of all else: superpixels, tracking, trees, pictures


def foresee(
    cells: Iterable[Cell], extents: Mapping[Any, Extent], folder: BenchFolder, *, device: str, jobs: int
) -> float:
    """Seconds until all cells are finished, those that are not yet.

    Methods of which some cells are finished in the folder are expected to take as long as those did, for their size;
    others by the speed of the machines above. Jobs share a GPU; each has a core of its own.
    """
    cells = tuple({cell.key: cell for cell in cells}.values())
    measured, seconds = _measure(cells, extents, folder, device), 0.0
    for cell in cells:
        if folder.result(cell).exists():
            continue
        extent, settings = extents[cell.sequence], find_settings(cell.method, cell.variant.changes)
        if cell.method in measured:
            seconds += guess_seconds(settings, extent, device) * measured[cell.method] / jobs
        else:
            rest = FRAME_SECONDS * extent.frames
            training = guess_seconds(settings, extent, device) - rest
            seconds += training / (1 if device == "cuda" else jobs) + rest / jobs
    return seconds


def guess_seconds(settings: Any, extent: Extent, device: str) -> float:
    """Seconds of one cell by the settings of its method, None for a method without any."""
    steps = 0.0
    if hasattr(settings, "phases"):
        phases = settings.phases
        estimated = phases.estimation_epochs if hasattr(settings, "priors") or hasattr(settings, "alternation") else 0
        steps = (phases.warmup_epochs + estimated + phases.final_epochs) * _network_pixels(settings, extent)
    elif hasattr(settings, "rounds"):
        rounds = settings.rounds
        later = rounds.rounds * rounds.round_networks * rounds.round_epochs
        steps = (settings.warmup.epochs * rounds.networks + later) * _network_pixels(settings, extent)
    elif hasattr(settings, "autoencoder"):
        own = settings.autoencoder
        frames, width = max(extent.frames, own.frames_per_epoch), own.base_width / AUTOENCODER_WIDTH
        steps = AUTOENCODER_COST * own.epochs * frames * reduced_area(extent.size, own.max_side) * width
    return FRAME_SECONDS * extent.frames + steps * NANOSECONDS.get(device, NANOSECONDS["cpu"]) * 1e-9


def reduced_area(size: tuple[int, int], max_side: int) -> float:
    """Pixels of a frame whose longer side is reduced to max_side.

    >>> reduced_area((100, 400), 200), reduced_area((100, 400), 500)
    (10000.0, 40000.0)
    """
    scale = min(1.0, max_side / max(size))
    return size[0] * size[1] * scale**2


def describe_seconds(seconds: float) -> str:
    """A time in words.

    >>> describe_seconds(40), describe_seconds(1500), describe_seconds(30000), describe_seconds(400000)
    ('a minute', '25 minutes', '8.3 hours', '4.6 days')
    """
    if seconds < 90:
        return "a minute"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"


def _network_pixels(settings: Any, extent: Extent) -> float:
    """Pixels that an epoch trains on, weighed by the network's width."""
    frames = max(extent.frames, settings.training.frames_per_epoch)
    width = settings.network.base_width / PAPER_WIDTH
    return frames * reduced_area(extent.size, settings.training.max_side) * width


def _measure(
    cells: Iterable[Cell], extents: Mapping[Any, Extent], folder: BenchFolder, device: str
) -> dict[str, float]:
    """By method: seconds that its finished cells took, relative to the guess."""
    taken, guessed = defaultdict(float), defaultdict(float)
    for cell in cells:
        for row in folder.collect([cell]):
            if row.time_s is not None:
                settings = find_settings(cell.method, cell.variant.changes)
                taken[cell.method] += row.time_s
                guessed[cell.method] += guess_seconds(settings, extents[cell.sequence], device)
    return {method: taken[method] / guessed[method] for method in taken}
