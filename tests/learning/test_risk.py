"""The PU risk: values worked out by hand from log 2, log 3 and log 4, and the sign of what it pushes."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fewpoint.errors import SettingsError
from fewpoint.learning.risk import Risk, pu_risk
from fewpoint.learning.settings import RiskSettings

UNBIASED = RiskSettings(beta=math.inf, frames="sum")
PAPER = RiskSettings(gamma=1.0, keep=0.0, frames="sum")
AUTHORS = RiskSettings(gamma=1.0, keep=1.0, frames="sum")
CLAMPED = RiskSettings(gamma=0.0, keep=1.0, frames="sum")
LOG3 = math.log(3)


def risk_of(
    logits: list, positive: list, unlabelled: list, priors: list[float], settings: RiskSettings = PAPER
) -> Risk:
    tensors = (torch.tensor(values, dtype=torch.float64) for values in (logits, positive, unlabelled, priors))
    return pu_risk(*tensors, settings)


def below_zero(settings: RiskSettings) -> Risk:
    """A positive at log 3 and an unlabelled sample at -log 3, prior one half: R- = log 4/3 - log 4 / 2 = log 2/3."""
    return risk_of([[LOG3, -LOG3]], [[1, 0]], [[0, 1]], [0.5], settings)


def test_a_positive_and_a_negative_risk_by_hand():
    # l+(0) = l-(0) = log 2, l-(log 3) = log 4.
    risk = risk_of([[0.0, LOG3]], [[1, 0]], [[0, 1]], [0.5])
    assert risk.positive.item() == pytest.approx(0.5 * math.log(2))
    assert risk.negative.item() == pytest.approx(math.log(4) - 0.5 * math.log(2))
    assert risk.objective.item() == pytest.approx(math.log(4))
    assert not risk.ascends


@pytest.mark.parametrize("settings", [UNBIASED, PAPER, AUTHORS, CLAMPED])
def test_above_zero_all_members_of_the_family_agree(settings):
    risk = risk_of([[0.0, LOG3]], [[1, 0]], [[0, 1]], [0.5], settings)
    assert risk.objective.item() == pytest.approx(math.log(4))


@pytest.mark.parametrize(
    ("settings", "objective"),
    [
        (UNBIASED, 0.5 * math.log(4 / 3) + math.log(2 / 3)),
        (PAPER, math.log(3 / 2)),
        (AUTHORS, 0.5 * math.log(4 / 3) + math.log(3 / 2)),
        (CLAMPED, 0.5 * math.log(4 / 3)),
        (RiskSettings(gamma=0.25, keep=0.0), 0.25 * math.log(3 / 2)),
    ],
)
def test_below_zero_the_objective_by_hand(settings, objective):
    risk = below_zero(settings)
    assert risk.negative.item() == pytest.approx(math.log(2 / 3))
    assert risk.positive.item() == pytest.approx(0.5 * math.log(4 / 3))
    assert risk.objective.item() == pytest.approx(objective)
    assert bool(risk.ascends) is (settings is not UNBIASED)


@pytest.mark.parametrize(("beta", "ascends"), [(0.40, True), (0.41, False)])
def test_the_threshold_is_minus_beta(beta, ascends):
    # R- = log 2/3 = -0.405.
    assert bool(below_zero(RiskSettings(beta=beta)).ascends) is ascends


def test_a_negative_risk_of_exactly_zero_descends():
    # One sample is both: R- = log 2 - 1 * log 2.
    assert not risk_of([[0.0]], [[1]], [[1]], [1.0]).ascends


def test_losses_are_means_over_samples_and_sums_over_frames():
    logits = [[0.0, LOG3, -LOG3, LOG3], [0.0, 0.0, LOG3, 50.0]]
    risk = risk_of(logits, [[1, 1, 0, 0], [1, 0, 0, 0]], [[0, 0, 1, 1], [0, 1, 1, 0]], [0.2, 0.4])
    first_positive, second_positive = (math.log(2) + math.log(4 / 3)) / 2, math.log(2)
    first_negative = (math.log(4 / 3) + math.log(4)) / 2 - 0.2 * (math.log(2) + math.log(4)) / 2
    second_negative = (math.log(2) + math.log(4)) / 2 - 0.4 * math.log(2)
    assert risk.positive.item() == pytest.approx(0.2 * first_positive + 0.4 * second_positive)
    assert risk.negative.item() == pytest.approx(first_negative + second_negative)


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_the_mean_over_frames_is_the_sum_over_their_number(shift):
    batch = random_batch(0, shift)
    summed, averaged = (pu_risk(*batch, RiskSettings(frames=frames)) for frames in ("sum", "mean"))
    for name in ("objective", "positive", "negative"):
        assert getattr(averaged, name).item() == pytest.approx(getattr(summed, name).item() / 5)
    assert bool(averaged.ascends) is bool(summed.ascends) is (shift > 0)


def test_one_sign_test_decides_for_the_whole_batch():
    # Alone, the first frame has R- = log 2/3 = -.41; the second's log 4 - .5 log 2 = 1.04 outweighs it.
    risk = risk_of([[LOG3, -LOG3], [0.0, LOG3]], [[1, 0], [1, 0]], [[0, 1], [0, 1]], [0.5, 0.5])
    assert not risk.ascends
    assert risk.negative.item() == pytest.approx(math.log(2 / 3) + math.log(4) - 0.5 * math.log(2))


def test_a_frame_without_a_positive_borrows_the_mean_over_the_batchs_positives():
    logits = [[0.0, LOG3], [LOG3, 0.0], [LOG3, LOG3]]
    positive = [[0, 0], [1, 0], [1, 1]]
    risk = risk_of(logits, positive, [[1, 1], [0, 1], [0, 0]], [0.3, 0.0, 0.0])
    # The three positives of the batch are all at log 3.
    assert risk.positive.item() == pytest.approx(0.3 * math.log(4 / 3))
    unlabelled = (math.log(2) + math.log(4)) / 2 + math.log(2)
    assert risk.negative.item() == pytest.approx(unlabelled - 0.3 * math.log(4))


def test_an_absent_frame_contributes_its_unlabelled_term_alone():
    here = risk_of([[0.0, LOG3]], [[1, 0]], [[0, 1]], [0.5])
    both = risk_of([[0.0, LOG3], [LOG3, -LOG3]], [[1, 0], [0, 0]], [[0, 1], [1, 1]], [0.5, 0.0])
    assert both.positive.item() == here.positive.item()
    assert (both.negative - here.negative).item() == pytest.approx((math.log(4) + math.log(4 / 3)) / 2)


def test_a_batch_without_any_positive_has_only_unlabelled_terms():
    risk = risk_of([[0.0, LOG3]], [[0, 0]], [[1, 1]], [0.5])
    assert (risk.positive.item(), risk.negative.item()) == (0.0, pytest.approx((math.log(2) + math.log(4)) / 2))


def random_batch(seed: int, shift: float) -> tuple[Tensor, ...]:
    """Five frames of seven samples; a shift above zero on the positives makes R- negative."""
    generator = torch.Generator().manual_seed(seed)
    positive = (torch.rand(5, 7, generator=generator) < 0.3).double()
    positive[0] = 0
    unlabelled = 1 - positive
    logits = torch.randn(5, 7, generator=generator).double() + shift * positive - shift * unlabelled
    return logits.requires_grad_(), positive, unlabelled, torch.full((5,), 0.5, dtype=torch.float64)


@pytest.mark.parametrize("settings", [UNBIASED, PAPER, AUTHORS, CLAMPED])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_gradients_equal_finite_differences(settings, shift):
    logits, *rest = random_batch(0, shift)
    assert bool(pu_risk(logits, *rest, PAPER).ascends) is (shift > 0)
    assert torch.autograd.gradcheck(lambda given: pu_risk(given, *rest, settings).objective, logits)


@pytest.mark.parametrize(("settings", "change"), [(PAPER, 1), (UNBIASED, -1)])
def test_below_zero_a_step_of_the_papers_text_raises_the_negative_risk_and_an_unbiased_one_lowers_it(settings, change):
    logits, *rest = random_batch(1, 3.0)
    before = pu_risk(logits, *rest, settings)
    (gradient,) = torch.autograd.grad(before.objective, logits)
    after = pu_risk(logits - 1e-3 * gradient, *rest, settings)
    assert change * (after.negative - before.negative) > 0


def test_below_zero_clamping_leaves_unlabelled_samples_alone():
    logits, positive, unlabelled, priors = random_batch(1, 3.0)
    (gradient,) = torch.autograd.grad(pu_risk(logits, positive, unlabelled, priors, CLAMPED).objective, logits)
    assert (gradient[unlabelled > 0] == 0).all()
    assert (gradient[positive > 0] < 0).all()


def test_neither_the_order_of_samples_nor_that_of_frames_matters():
    logits, positive, unlabelled, priors = random_batch(2, 0.0)
    frames, samples = torch.randperm(5), torch.randperm(7)
    there = pu_risk(
        logits[frames][:, samples],
        positive[frames][:, samples],
        unlabelled[frames][:, samples],
        priors[frames],
        PAPER,
    )
    torch.testing.assert_close(there.objective, pu_risk(logits, positive, unlabelled, priors, PAPER).objective)


def test_large_logits_stay_finite():
    risk = risk_of([[500.0, -500.0]], [[1, 0]], [[0, 1]], [0.1])
    assert (risk.positive.item(), risk.negative.item()) == (pytest.approx(0.0, abs=1e-12), pytest.approx(-50.0))


@pytest.mark.parametrize("wrong", [{"beta": -0.1}, {"gamma": -1.0}, {"keep": math.nan}, {"frames": "all"}])
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"risk.{next(iter(wrong))}"):
        RiskSettings(**wrong)


@pytest.mark.parametrize("settings", [PAPER, AUTHORS])
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_labelled_negatives_add_their_own_mean_whether_or_not_the_rest_ascends(settings, weight):
    # l-(log 3) = log 4 and l-(0) = log 2 in the mean, times the prior; the second frame has none and adds nothing.
    settings = replace(settings, negatives=weight)
    added = weight * 0.5 * (math.log(4) + math.log(2)) / 2
    for first in (-LOG3, LOG3):
        logits = torch.tensor([[first, -LOG3, LOG3, 0.0]] * 2, dtype=torch.float64)
        positive, unlabelled = (torch.tensor([row] * 2).double() for row in ([1, 0, 0, 0], [0, 1, 0, 0]))
        negative, priors = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0]]).double(), torch.tensor([0.5, 0.5]).double()
        plain = pu_risk(logits, positive, unlabelled, priors, settings)
        told = pu_risk(logits, positive, unlabelled, priors, settings, negative)
        assert bool(plain.ascends) == (first > 0)
        assert told.objective.item() == pytest.approx(plain.objective.item() + added)
        assert told[1:] == plain[1:]


def test_a_labelled_negative_is_pushed_down():
    logits = torch.zeros(1, 3, requires_grad=True)
    kinds = (torch.tensor([row]).float() for row in ([1, 0, 0], [0, 1, 0]))
    pu_risk(logits, *kinds, torch.tensor([0.3]), PAPER, torch.tensor([[0.0, 0, 1]])).objective.backward()
    assert logits.grad[0, 2].item() == pytest.approx(0.3 * 0.5)
