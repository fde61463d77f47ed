"""The positive/unlabelled risk: unbiased, non-negative with ascent, and clamped, as one function."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from fewpoint.learning.settings import RiskSettings


class Risk(NamedTuple):
    """objective: what to descend. positive, negative: R+ and R-. ascends: whether R- was below its threshold."""

    objective: Tensor
    positive: Tensor
    negative: Tensor
    ascends: Tensor


def pu_risk(
    logits: Tensor,
    positive: Tensor,
    unlabelled: Tensor,
    priors: Tensor,
    settings: RiskSettings,
    negative: Tensor | None = None,
) -> Risk:
    """Risk of a batch of frames, with one sign test for the batch.

    logits: (B, S). positive, unlabelled: (B, S) weights of the samples, 0 for those left out. priors: (B,).
      R+ = sum_i pi_i mean_P[l+],  R- = sum_i (mean_U[l-] - pi_i mean_P[l-]),
      l+(z) = log(1 + e^-z),  l-(z) = log(1 + e^z),
    or with settings.frames = "mean" these sums over the number of frames.
    A frame without a positive sample borrows the mean over the batch's positives; if the batch has none, frames
    without a sample contribute nothing to R+ and only their unlabelled term to R-.

    negative: (B, S) weights of samples that a person marked as negative. They are where a leak was seen, not drawn at
    random from all negatives (biased negatives, Hsieh et al. 2019): they add nu sum_i pi_i mean_N[l-] to what is
    descended, with nu = settings.negatives, and take no part in the sign test.

    >>> zero = torch.zeros(1, 2)
    >>> risk = pu_risk(zero, torch.tensor([[1.0, 0]]), torch.tensor([[0, 1.0]]), torch.tensor([0.5]), RiskSettings())
    >>> [round(float(value), 4) for value in (risk.positive, risk.negative)]
    [0.3466, 0.3466]
    """
    # l+(z) = l-(z) - z: one softplus serves all four terms.
    negative_loss = softplus(logits)
    positive_loss = negative_loss - logits
    unlabelled_term = _frame_means(negative_loss, unlabelled)
    over_frames = torch.sum if settings.frames == "sum" else torch.mean
    risk_positive = over_frames(priors * _positive_means(positive_loss, positive))
    risk_negative = over_frames(unlabelled_term - priors * _positive_means(negative_loss, positive))
    ascends = risk_negative < -settings.beta
    below = settings.keep * risk_positive - settings.gamma * risk_negative
    objective = torch.where(ascends, below, risk_positive + risk_negative)
    if negative is not None:
        objective = objective + settings.negatives * over_frames(priors * _frame_means(negative_loss, negative))
    return Risk(objective, risk_positive, risk_negative, ascends)


def _frame_means(losses: Tensor, weights: Tensor) -> Tensor:
    """(B,) weighted mean of each frame's samples, 0 if a frame has none."""
    return (losses * weights).sum(1) / weights.sum(1).clamp(min=1e-9)


def _positive_means(losses: Tensor, weights: Tensor) -> Tensor:
    """(B,) mean over each frame's positives, or over the batch's if the frame has none."""
    borrowed = (losses * weights).sum() / weights.sum().clamp(min=1e-9)
    return torch.where(weights.sum(1) > 0, _frame_means(losses, weights), borrowed)
