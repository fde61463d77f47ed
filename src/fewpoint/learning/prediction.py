"""What the network says about every frame."""

import math
from itertools import pairwise, starmap

import torch
from torch import Tensor, nn

from fewpoint.core.stopping import check_stop
from fewpoint.core.threads import free_cores
from fewpoint.learning.devices import computes_mixed, start_threads
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import TrainingSettings
from fewpoint.models.pooling import pool_regions

PREDICTION_BATCH = 16
PIXELS_AT_ONCE = 2**20  # on a GPU: a batch has more small frames, since each batch costs a wait
MIRRORS = ((), (-2,), (-1,), (-2, -1))  # rows and columns are the last axes of frames and of logits
LEAST_PROBABILITY = 1e-5
WIDE = 8  # channels of the first convolution from which a CPU is faster in float32 with one plane per channel


@torch.no_grad()
def predict_logits(network: nn.Module, samples: SampleSet, settings: TrainingSettings) -> Tensor:
    """(T, K, h, w) float32 logits of every frame and object, on the device; with mirrors, those of run_mirrored.

    On a CPU, a network whose training divides its batches learns alone, and predicts several batches at once.
    """
    if settings.statistics == "sequence":
        measure_statistics(network, samples, settings)
    run = run_mirrored if settings.mirrors else run_network
    network.eval()

    @torch.no_grad()  # which counts in one thread alone
    def predict(start: int, end: int, new: int) -> Tensor:
        return run(network, samples.standardise(samples.frames[start:end]), settings)[-new:]

    batches = plan_batches(samples.n_frames, choose_batch(samples.frames))
    threads = min(settings.parts, free_cores(), len(batches)) if samples.frames.device.type == "cpu" else 1
    if threads > 1:
        pieces = []
        with start_threads(threads) as pool:
            for piece in pool.map(predict, *zip(*batches, strict=True)):
                check_stop()
                pieces.append(piece)
    else:
        pieces = list(starmap(predict, batches))
    network.train()
    return torch.cat(pieces)


def choose_batch(frames: Tensor) -> int:
    """How many of the frames (T, C, h, w) are predicted at once: as few batches as possible, nearly equal in size."""
    most = PREDICTION_BATCH
    if frames.is_cuda:
        most = max(most, PIXELS_AT_ONCE // (frames.shape[-2] * frames.shape[-1]))
    return math.ceil(len(frames) / math.ceil(len(frames) / most))


def plan_batches(n_frames: int, size: int) -> list[tuple[int, int, int]]:
    """The first frame of each batch, the one after its last, and how many at its end are in no earlier batch.

    All have the same size, as libraries prepare again for each size: the last reaches back.

    >>> plan_batches(40, 16), plan_batches(3, 3)
    ([(0, 16, 16), (16, 32, 16), (24, 40, 8)], [(0, 3, 3)])
    """
    ends = [*range(size, n_frames, size), n_frames]
    return [(end - size, end, end - before) for before, end in pairwise([0, *ends])]


def run_mirrored(network: nn.Module, frames: Tensor, settings: TrainingSettings) -> Tensor:
    """Like run_network, but the logit of the mean probability over the frames and their mirror images."""
    total = torch.zeros((), device=frames.device)
    for axes in MIRRORS:
        logits = run_network(network, frames.flip(axes), settings)
        total = total + torch.sigmoid(logits).flip(axes)
    return torch.logit(total / len(MIRRORS), eps=LEAST_PROBABILITY)


def run_network(network: nn.Module, frames: Tensor, settings: TrainingSettings) -> Tensor:
    """(B, C, h, w) standardised frames to (B, K, h, w) float32 logits, in a precision and layout for the device."""
    check_stop()
    frames = frames.to(memory_format=choose_layout(network, frames.device, settings))
    with torch.autocast(frames.device.type, torch.bfloat16, enabled=is_mixed(frames.device, settings)):
        logits = network(frames)
    return logits.float()


def is_mixed(device: torch.device, settings: TrainingSettings) -> bool:
    """Whether convolutions are computed in bfloat16: if that is asked for, and faster."""
    return settings.precision == "bfloat16" and computes_mixed(device)


def choose_layout(network: nn.Module, device: torch.device, settings: TrainingSettings) -> torch.memory_format:
    """Channels last, except for wide networks in single precision on a CPU."""
    wide = len(next(network.parameters(), ())) >= WIDE
    single = device.type == "cpu" and not is_mixed(device, settings)
    return torch.contiguous_format if wide and single else torch.channels_last


def measure_statistics(network: nn.Module, samples: SampleSet, settings: TrainingSettings) -> None:
    """Replace the running averages of batch norms by the mean over all frames, not augmented, with the current weights.

    Each batch counts by its frames: with equal counts, a last batch of one frame would weigh as much as one of sixteen.
    """
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
    seen = 0
    network.train()
    for frames in samples.frames.split(choose_batch(samples.frames)):
        seen += len(frames)
        for norm in norms:
            norm.momentum = len(frames) / seen
        run_network(network, samples.standardise(frames), settings)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


def pool_probabilities(logits: Tensor, samples: SampleSet) -> Tensor:
    """(T, regions) probability of each superpixel, from its mean logit."""
    return torch.sigmoid(pool_regions_of(logits, samples))


def pool_regions_of(values: Tensor, samples: SampleSet) -> Tensor:
    """(T, regions) mean of a (T, h, w) map over each superpixel, a few frames at a time."""
    size = choose_batch(samples.frames)
    pairs = zip(values.split(size), samples.labels.split(size), strict=True)
    return torch.cat([pool_regions(chunk, labels, samples.regions) for chunk, labels in pairs])
