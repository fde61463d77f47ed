"""A result for people: a montage, figures, the frames worth a look, and one page that holds them all."""

from fewpoint.report.figures import (
    StoppingRule,
    draw_mask_shares,
    draw_prior_curves,
    draw_stopping_curves,
    draw_training_curves,
)
from fewpoint.report.html import ReportContent, render_report
from fewpoint.report.judging import Judgement, judge
from fewpoint.report.montage import draw_montage, encode_png
from fewpoint.report.uncertainty import FrameWorth, rank_frames

__all__ = [
    "FrameWorth",
    "Judgement",
    "ReportContent",
    "StoppingRule",
    "draw_mask_shares",
    "draw_montage",
    "draw_prior_curves",
    "draw_stopping_curves",
    "draw_training_curves",
    "encode_png",
    "judge",
    "rank_frames",
    "render_report",
]
