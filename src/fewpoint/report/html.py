"""The page about one run: self-contained, for the screen and for print."""

import json
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewpoint.core import ImageSequence, PointSet, Result
from fewpoint.report.figures import (
    BLUE,
    StoppingRule,
    draw_mask_shares,
    draw_prior_curves,
    draw_reliability,
    draw_stopping_curves,
    draw_training_curves,
)
from fewpoint.report.health import SCORED, WORDS, Health
from fewpoint.report.judging import Judgement, judge
from fewpoint.report.measures import measure_areas_mm2, measure_volume_ml
from fewpoint.report.montage import draw_montage, encode_jpeg
from fewpoint.report.pages import load_template
from fewpoint.report.reliability import Reliability
from fewpoint.report.strip import gather_strip
from fewpoint.report.tiles import Scene, draw_frame, draw_probability
from fewpoint.report.uncertainty import FrameWorth
from fewpoint.report.wording import (
    format_area,
    format_seconds,
    format_share,
    format_value,
    format_volume,
    name_frame,
)

MONTAGE_COLUMNS = 6
PICTURED = 6
LISTED = 12
THUMBNAIL = 260


@dataclass(frozen=True, eq=False)
class ReportContent:
    """What the page says.

    timings: seconds of each stage. settings: values by section and name. facts: label to text, such as device, seed
    and version. warnings: sentences to act on. judged: what is thought of the result; found out if it is None.
    stopping: the rule that ended the estimation, if there is one. asked: label to text, what was asked for, such as
    input, points and command. next_steps: what to do now, each with the command that does it, if there is one.
    reliability: of the probabilities on outlined frames, if there are any.
    """

    title: str
    scene: Scene
    timings: dict[str, float] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    judged: Judgement | None = None
    stopping: StoppingRule | None = None
    asked: dict[str, str] = field(default_factory=dict)
    next_steps: tuple[tuple[str, str], ...] = ()
    reliability: Reliability | None = None

    @property
    def sequence(self) -> ImageSequence:
        return self.scene.sequence

    @property
    def points(self) -> PointSet:
        return self.scene.points

    @property
    def segmentation(self) -> Result:
        return self.scene.segmentation


def render_report(content: ReportContent) -> str:
    """One HTML page that needs no other file and no network: pictures, curves and style stand in it."""
    judged = content.judged or judge(content.sequence, content.points, content.segmentation)
    ranking = judged.ranking
    filters = {
        "share": format_share,
        "seconds": format_seconds,
        "value": format_value,
        "area": format_area,
        "volume": format_volume,
    }
    return load_template("fewpoint.report", "report.html", filters).render(
        content=content,
        summary=summarise(content),
        montage=embed_picture(draw_montage(content.scene, MONTAGE_COLUMNS)),
        pictured=_picture_frames(content, ranking[:PICTURED]),
        ranking=ranking,
        suggested=len(judged.suggested),
        strip=_write_json(gather_strip(content.scene, judged).as_table()),
        score=judged.health.score,
        listed=LISTED,
        health=list_health(judged.health),
        scored=[WORDS[name] for name in SCORED],
        figures=_draw_figures(content),
        timings=measure_timings(content.timings),
        volume_ml=measure_volume_ml(content.segmentation),
        areas_mm2=measure_areas_mm2(content.segmentation),
    )


@dataclass(frozen=True)
class Summary:
    """What came out, in numbers.

    masked_frames: frames with a mask. mean_share, largest_share: share of such a frame that is masked; 0 without any.
    largest_frame: frame with the largest mask.
    """

    frames: int
    masked_frames: int
    mean_share: float
    largest_share: float
    largest_frame: str
    clicked_frames: int


def summarise(content: ReportContent) -> Summary:
    """Count frames with a mask and measure their share, the frames without one left out."""
    shares = content.segmentation.shares
    masked = shares[shares > 0]
    largest = int(shares.argmax())
    return Summary(
        frames=len(shares),
        masked_frames=len(masked),
        mean_share=float(masked.mean()) if len(masked) else 0.0,
        largest_share=float(shares[largest]),
        largest_frame=name_frame(largest, content.sequence.names[largest]),
        clicked_frames=len(np.unique(content.points.frames)),
    )


def list_health(health: Health | None) -> tuple[tuple[str, float], ...]:
    """The figures that are there, in words, worst first; nothing if health was not measured."""
    known = {} if health is None else {words: getattr(health, name) for name, words in WORDS.items()}
    return tuple(
        sorted(((words, value) for words, value in known.items() if value is not None), key=lambda row: row[1])
    )


@dataclass(frozen=True)
class StageTime:
    """Seconds of one stage, and its share of all stages."""

    stage: str
    seconds: float
    share: float


def measure_timings(timings: dict[str, float]) -> tuple[StageTime, ...]:
    """Each stage with its share of the total.

    >>> [entry.share for entry in measure_timings({"read": 1.0, "learn": 3.0})]
    [0.25, 0.75]
    """
    total = sum(timings.values())
    return tuple(StageTime(stage, seconds, seconds / total if total else 0.0) for stage, seconds in timings.items())


@dataclass(frozen=True)
class Thumbnail:
    """A frame worth a look: its pictures as data URIs."""

    entry: FrameWorth
    label: str
    frame: str
    probability: str


def _picture_frames(content: ReportContent, entries: tuple[FrameWorth, ...]) -> tuple[Thumbnail, ...]:
    scene = content.scene
    height, width = scene.square_size
    scale = THUMBNAIL / max(height, width)
    size = (max(1, round(height * scale)), max(1, round(width * scale)))
    return tuple(
        Thumbnail(
            entry=entry,
            label=name_frame(entry.frame, content.sequence.names[entry.frame]),
            frame=embed_picture(draw_frame(scene, entry.frame, size)),
            probability=embed_picture(draw_probability(scene, entry.frame, size)),
        )
        for entry in entries
    )


def _draw_figures(content: ReportContent) -> dict[str, Any]:
    """The curves as markup; those of training only if there was any, of the priors if any was estimated."""
    segmentation = content.segmentation
    history = segmentation.history
    figures = {"shares": draw_mask_shares(segmentation, content.points)}
    if content.reliability is not None:
        figures["reliability"] = draw_reliability(content.reliability)
    if any(record.phase.startswith("estimation") for record in history.records):  # "estimation, network 2" too
        figures["priors"] = draw_prior_curves(segmentation)
        figures["stopping"] = draw_stopping_curves(history, segmentation.bound.fraction, content.stopping)
    if len(history):
        figures["training"] = draw_training_curves(history)
    return {name: _embed_svg(svg) for name, svg in figures.items()}


def _write_json(values: dict[str, Any]) -> Any:
    """Values for a script of the page; names of frames cannot end it."""
    from markupsafe import Markup

    return Markup(json.dumps(values, separators=(",", ":")).replace("<", "\\u003c"))


def _embed_svg(svg: str) -> Any:
    """Mark our own SVG as safe; in a page it needs no namespace, and its blue is the page's, lighter in the dark."""
    from markupsafe import Markup

    svg = svg.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)
    return Markup(svg.replace(BLUE.lower(), "var(--accent)"))


def embed_picture(image: np.ndarray) -> str:
    return "data:image/jpeg;base64," + b64encode(encode_jpeg(image)).decode("ascii")
