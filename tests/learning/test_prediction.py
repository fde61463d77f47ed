"""Predictions of every frame, and the statistics they rest on."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from fewpoint.learning import prediction
from fewpoint.learning.devices import start_threads
from fewpoint.learning.prediction import (
    choose_layout,
    measure_statistics,
    pool_probabilities,
    predict_logits,
    run_mirrored,
)
from fewpoint.learning.settings import TrainingSettings
from fewpoint.models.networks import build_network
from fewpoint.models.pooling import pool_regions
from fewpoint.models.settings import NetworkSettings
from fewpoint.superpixels.regions import region_probabilities
from learning.conftest import make_blocks

RUNNING, SEQUENCE = TrainingSettings(statistics="running"), TrainingSettings(statistics="sequence")
MIRRORED = TrainingSettings(mirrors=True)
NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="graphs need CUDA")


@pytest.fixture
def many(samples):
    """Seventeen frames, one more than a batch of prediction, of which the last is unlike the others."""
    given = samples(17)
    frames = given.frames.clone()
    frames[16] = 1 - frames[16]
    return replace(given, frames=frames)


def test_every_frame_counts_once_in_the_statistics_of_the_sequence(many, trainer):
    network = trainer(many).network
    convolution, norm, *_ = network.encoder[0].chain[0]
    measure_statistics(network, many, SEQUENCE)
    values = convolution(many.standardise(many.frames))
    torch.testing.assert_close(norm.running_mean, values.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)


def test_the_statistics_of_the_sequence_forget_what_was_there_before(many, trainer):
    first, second = trainer(many).network, trainer(many).network
    for module in second.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.fill_(7.0)
            module.running_var.fill_(0.1)
    assert torch.equal(predict_logits(first, many, SEQUENCE), predict_logits(second, many, SEQUENCE))
    assert not torch.equal(predict_logits(trainer(many).network, many, RUNNING), predict_logits(first, many, SEQUENCE))


def test_measuring_leaves_the_weights_and_the_momentum_alone(many, trainer):
    network = trainer(many).network
    momenta = [norm.momentum for norm in network.modules() if isinstance(norm, nn.BatchNorm2d)]
    weights = [parameter.clone() for parameter in network.parameters()]
    predict_logits(network, many, SEQUENCE)
    assert [norm.momentum for norm in network.modules() if isinstance(norm, nn.BatchNorm2d)] == momenta
    assert all(torch.equal(a, b) for a, b in zip(weights, network.parameters(), strict=True))


def test_with_running_statistics_prediction_changes_nothing_in_the_network(many, trainer):
    network = trainer(many).network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    logits = predict_logits(network, many, RUNNING)
    assert (logits.shape, logits.dtype, logits.requires_grad) == ((17, 1, 16, 16), torch.float32, False)
    assert all(torch.equal(value, network.state_dict()[name]) for name, value in before.items())
    assert network.training


def test_a_frames_logits_do_not_depend_on_how_frames_are_batched(many, trainer, monkeypatch):
    network = trainer(many).network
    together = predict_logits(network, many, RUNNING)
    monkeypatch.setattr(prediction, "PREDICTION_BATCH", 3)
    torch.testing.assert_close(predict_logits(network, many, RUNNING), together, rtol=1e-4, atol=1e-5)


def test_a_network_that_learns_alone_predicts_the_same_to_the_bit_with_any_number_of_threads(
    many, trainer, monkeypatch
):
    monkeypatch.setattr(prediction, "PREDICTION_BATCH", 3)
    network, asked = trainer(many).network, replace(MIRRORED, statistics="sequence", parts=2)
    started = []
    monkeypatch.setattr(prediction, "start_threads", lambda count: started.append(count) or start_threads(count))
    found = []
    for cores in (1, 2, 8):
        monkeypatch.setattr(prediction, "free_cores", lambda cores=cores: cores)
        found.append(predict_logits(network, many, asked))
        assert not found[-1].requires_grad
    assert started == [2, 2]
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_the_probability_of_a_superpixel_is_that_of_its_mean_logit(many):
    logits = torch.randn(17, 16, 16, generator=torch.Generator().manual_seed(0))
    pooled = pool_regions(logits, many.labels, many.regions)
    torch.testing.assert_close(pool_probabilities(logits, many), torch.sigmoid(pooled))
    # Tracking and masks have the same f, of the map that a run keeps.
    kept = torch.sigmoid(logits).half().numpy()
    likely = region_probabilities(make_blocks(17), kept).reshape(17, many.regions)
    torch.testing.assert_close(torch.from_numpy(likely).float(), torch.sigmoid(pooled), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("axes", [(2,), (3,), (2, 3)])
def test_with_mirrors_a_flipped_sequence_gives_the_flipped_result(many, trainer, axes):
    network = trainer(many).network
    flipped = replace(many, frames=many.frames.flip(axes))
    straight, mirrored = (predict_logits(network, given, MIRRORED) for given in (many, flipped))
    torch.testing.assert_close(mirrored, straight.flip(axes), rtol=0, atol=1e-4)
    # Without them it does not: the network's filters have a left and a right.
    plain, turned = (predict_logits(network, given, RUNNING) for given in (many, flipped))
    assert (turned - plain.flip(axes)).abs().max() > 1e-2


def test_with_mirrors_the_probability_is_the_mean_over_the_four_images(many, trainer):
    network = trainer(many).network.eval()
    frames = many.standardise(many.frames[:2])
    with torch.no_grad():
        expected = sum(torch.sigmoid(network(frames.flip(axes))).flip(axes) for axes in ((), (2,), (3,), (2, 3)))
        mirrored = torch.sigmoid(run_mirrored(network, frames, replace(MIRRORED, precision="float32")))
    torch.testing.assert_close(mirrored, expected / 4, rtol=1e-4, atol=1e-5)


def test_mirrored_logits_are_finite_where_the_network_is_sure(many):
    class Sure(nn.Module):
        def forward(self, frames: torch.Tensor) -> torch.Tensor:
            return torch.full_like(frames[:, :1], 200.0)

    assert torch.isfinite(predict_logits(Sure(), many, MIRRORED)).all()


@pytest.mark.parametrize(
    ("width", "precision", "planes"),
    [(8, "float32", False), (32, "float32", True), (8, "bfloat16", False), (32, "bfloat16", False)],
)
def test_wide_networks_keep_a_plane_a_channel_in_float32_on_a_cpu(monkeypatch, width, precision, planes):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    training = TrainingSettings(precision=precision)
    settings = NetworkSettings(base_width=width, levels=2, multiple=4)
    network = build_network(1, settings, (0.1,), torch.Generator().manual_seed(0))
    layout = choose_layout(network, torch.device("cpu"), training)
    assert (layout == torch.contiguous_format) == planes
    assert choose_layout(network, torch.device("cuda"), training) == torch.channels_last


def test_the_layout_changes_no_logit(samples, monkeypatch):
    given = samples(3)
    network = build_network(1, NetworkSettings(base_width=32, levels=2), (0.1,), torch.Generator().manual_seed(0))
    settings = replace(RUNNING, precision="float32")
    plain = predict_logits(network, given, settings)
    monkeypatch.setattr(prediction, "WIDE", 1000)
    last = predict_logits(network.to(memory_format=torch.channels_last), given, settings)
    torch.testing.assert_close(plain, last, rtol=1e-4, atol=1e-5)
