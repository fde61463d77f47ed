"""One piece of work, done in a process of its own."""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.bench.epochs import EpochScores
from fewpoint.bench.folder import write_ceiling
from fewpoint.bench.methods import Changes, build_method, find_settings, has_setting, runs_pipeline
from fewpoint.bench.oracles import ORACLES, build_oracle
from fewpoint.bench.protocols import give_bound, take_points
from fewpoint.bench.records import RECORD_FILE, Course, Record, write_record
from fewpoint.bench.results import Measurement
from fewpoint.core import ImageSequence, Listener, PointSet, Segmentation, Segmenter, SuperpixelMap
from fewpoint.evaluation.metrics import prior_error, score_absence, score_masks
from fewpoint.io.atomic import write_atomically, write_json
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.memory import measure_peak
from fewpoint.pipeline.config import override
from fewpoint.report.health import measure_health

WORK = "fewpoint.bench.worker:perform"
RESULT_FILE, MONTAGE_FILE = "result.json", "montage.png"


@dataclass(frozen=True)
class CellOrder:
    """Run a method and leave its result and montage in the folder `out`.

    input, truth, points: paths that are read; without points they are made of the truth, in its middle.
    changes: pairs of a setting and its value.
    """

    input: str
    truth: str
    points: str
    method: str
    changes: list[list]
    bound: str
    seed: int
    device: str
    out: str

    @property
    def pairs(self) -> Changes:
        return tuple(map(tuple, self.changes))


@dataclass(frozen=True)
class CeilingOrder:
    """Leave the Max SP of the sequence at `input` in the file `out`."""

    input: str
    truth: str
    out: str


@dataclass(frozen=True, eq=False)
class Case:
    """What a cell is about. truth: (T, H, W) bool."""

    sequence: ImageSequence
    points: PointSet
    truth: np.ndarray


ORDERS = {order.__name__: order for order in (CellOrder, CeilingOrder)}


def write_order(order: CellOrder | CeilingOrder) -> dict[str, Any]:
    """The order as plain values."""
    return {"order": type(order).__name__, **asdict(order)}


def perform(values: dict[str, Any]) -> None:
    """Do what an order says that write_order wrote."""
    order = ORDERS[values["order"]](**{name: value for name, value in values.items() if name != "order"})
    run_cell(order) if isinstance(order, CellOrder) else measure_ceiling(order)


def run_cell(order: CellOrder) -> None:
    """Read, segment, score, draw; the result is written last, so that its presence means a finished cell."""
    case = _read_case(order)
    epochs = EpochScores(case.truth)
    method = _build(order, case.truth, epochs)
    started = time.perf_counter()
    result = method.segment(case.sequence, case.points, give_bound(order.bound, case.truth), seed=order.seed)
    measurement = _measure(result, case.truth, epochs, time.perf_counter() - started)
    measurement = replace(measurement, health=measure_health(result, case.points))
    untracked = leave_out_last_step(order, result, case, epochs.superpixels)
    if untracked is not None:
        measurement = _add_untracked(measurement, untracked, case.truth)
    out = Path(order.out)
    out.mkdir(parents=True, exist_ok=True)
    _write_montage(out / MONTAGE_FILE, case, result)
    errors = [epochs.at(record.epoch).prior_mae for record in result.history.records]
    course = Course.of(result.history, errors)
    write_record(Record(result.masks, untracked, course, epochs.show()), out / RECORD_FILE)
    write_json(out / RESULT_FILE, asdict(measurement))


def measure_ceiling(order: CeilingOrder) -> None:
    """Max SP with the superpixels of the paper, whatever those of a method are: one ceiling a sequence."""
    from fewpoint.evaluation.ceiling import score_ceiling
    from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames

    superpixels = segment_frames(read_sequence(order.input), SuperpixelSettings(), jobs=1)
    max_sp = score_ceiling(superpixels, read_masks(order.truth)).pooled.f1
    Path(order.out).parent.mkdir(parents=True, exist_ok=True)
    write_ceiling(Path(order.out), max_sp)


def _read_case(order: CellOrder) -> Case:
    sequence, truth = read_sequence(order.input), read_masks(order.truth)
    return Case(sequence, take_points(order.points, sequence, truth), truth)


def _build(order: CellOrder, truth: np.ndarray, listener: Listener) -> Segmenter:
    """The method of an order; one that needs the truth is handed it here."""
    if order.method not in ORACLES:
        return build_method(order.method, order.pairs, order.device, listener)
    return build_oracle(order.method, truth, find_settings(order.method, order.pairs), order.device, listener)


def _measure(result: Segmentation, truth: np.ndarray, epochs: EpochScores, seconds: float) -> Measurement:
    score = score_masks(result.masks, truth).pooled
    absence = score_absence(result.masks, truth)
    selected, best, peak = result.history.selected_epoch, epochs.find_best(), measure_peak()
    return Measurement(
        bound_fraction=result.bound.fraction,
        f1=score.f1,
        precision=score.precision,
        recall=score.recall,
        absent_frames=absence.frames,
        absent_false_positive=absence.false_positive,
        prior_mae=prior_error(result.priors.mean, truth),
        stop_epoch=selected or None,
        stop_f1=epochs.at(selected).f1,
        best_f1=best.f1,
        best_epoch=best.epoch,
        best_prior_mae=best.prior_mae,
        time_s=seconds,
        memory_mb=peak.process_mb,
        cuda_mb=peak.cuda_mb,
    )


def leave_out_last_step(
    order: CellOrder, result: Segmentation, case: Case, superpixels: SuperpixelMap | None
) -> np.ndarray | None:
    """(T, H, W) bool masks that the same run would have given without its last step; None where there is none."""
    settings = find_settings(order.method, order.pairs)
    if not has_setting(settings, "tracking.enabled"):
        return None
    evens_out = has_setting(settings, "diffusion.enabled") and settings.diffusion.enabled
    if not (settings.tracking.enabled or evens_out):
        return None
    untracked = override(settings, "tracking.enabled", False)
    if not runs_pipeline(order.method):
        from fewpoint.baselines import network_learning  # loads torch

        return network_learning.choose_masks(superpixels, result.probabilities, case.points, untracked.tracking)
    from fewpoint.pipeline.stages import choose_masks  # loads torch
    from fewpoint.pipeline.task import Task

    return choose_masks(Task(case.sequence, case.points, result.bound, untracked), superpixels, result.probabilities)


def _add_untracked(measurement: Measurement, masks: np.ndarray, truth: np.ndarray) -> Measurement:
    score = score_masks(masks, truth).pooled
    return replace(
        measurement,
        f1_untracked=score.f1,
        precision_untracked=score.precision,
        recall_untracked=score.recall,
    )


def _write_montage(path: Path, case: Case, result: Segmentation) -> None:
    from fewpoint.report.montage import draw_montage, encode_png
    from fewpoint.report.tiles import set_scene

    picture = encode_png(draw_montage(set_scene(case.sequence, case.points, result, case.truth)))
    write_atomically(path, lambda stream: stream.write(picture))
