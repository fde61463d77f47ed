"""One piece of work, done in a process of its own."""

import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.bench.cases import MONTAGE_FILE, RESULT_FILE, Case, read_case, write_montage
from fewpoint.bench.effort import EffortOrder, run_efforts
from fewpoint.bench.epochs import EPOCHS_FILE, EpochScores
from fewpoint.bench.folder import write_ceiling
from fewpoint.bench.methods import build_method, find_settings
from fewpoint.bench.oracles import ORACLES, build_oracle
from fewpoint.bench.protocols import CENTRE, give_bound
from fewpoint.bench.records import RECORD_FILE, Course, Record, write_record
from fewpoint.bench.results import Measurement
from fewpoint.core import Listener, Result, Segmenter, SuperpixelMap
from fewpoint.core.job import Job
from fewpoint.core.settings import has_setting, override
from fewpoint.evaluation.metrics import prior_error, score_absence, score_masks
from fewpoint.io.atomic import write_arrays, write_json
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.memory import measure_peak
from fewpoint.methods.registry import is_own
from fewpoint.report.judging import judge
from fewpoint.superpixels.regions import region_probabilities

WORK = "fewpoint.bench.worker:perform"
REGIONS_FILE = "regions.npz"  # f: (total,) float16 of the superpixels, counts: of each frame
RUN_FOLDER = "run"  # of what a killed cell goes on with


@dataclass(frozen=True)
class CellOrder:
    """Run a job and leave its result and montage in the folder `out`.

    truth: path of the true masks. bound: the protocol by which the job's bound is made of the truth. points: the kind
    of those that a job without any gets, made of the truth. resumes: whether training keeps checkpoints in `out`, from
    which a killed cell goes on.
    """

    job: Job
    truth: str
    bound: str
    out: str
    points: str = CENTRE
    resumes: bool = False

    @property
    def method(self) -> str:
        return self.job.method or ""

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "CellOrder":
        return cls(**{**table, "job": Job.from_table(table["job"])})

    def as_table(self) -> dict[str, Any]:
        return {**vars(self), "job": self.job.as_table()}


@dataclass(frozen=True)
class CeilingOrder:
    """Leave the Max SP of the sequence at `input` in the file `out`."""

    input: str
    truth: str
    out: str

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "CeilingOrder":
        return cls(**table)

    def as_table(self) -> dict[str, Any]:
        return dict(vars(self))


ORDERS = {order.__name__: order for order in (CellOrder, CeilingOrder, EffortOrder)}


def write_order(order: CellOrder | CeilingOrder | EffortOrder) -> dict[str, Any]:
    """The order as plain values."""
    return {"order": type(order).__name__, **order.as_table()}


def perform(values: dict[str, Any]) -> None:
    """Do what an order says that write_order wrote."""
    order = ORDERS[values["order"]].from_table({name: value for name, value in values.items() if name != "order"})
    if isinstance(order, CellOrder):
        run_cell(order)
    elif isinstance(order, EffortOrder):
        run_efforts(order)
    else:
        measure_ceiling(order)


def run_cell(order: CellOrder) -> None:
    """Read, segment, score, draw; the result is written last, so that its presence means a finished cell."""
    case, out = read_case(order.job, order.truth, order.points), Path(order.out)
    epochs = EpochScores(case.truth, out / EPOCHS_FILE if order.resumes else None)
    method = _build(order, case.truth, epochs)
    started = time.perf_counter()
    result = method.segment(case.sequence, case.points, give_bound(order.bound, case.truth), seed=order.job.seed or 0)
    measurement = _measure(result, case.truth, epochs, time.perf_counter() - started)
    measurement = replace(measurement, health=judge(case.sequence, case.points, result).health)
    untracked = leave_out_last_step(order, result, case, epochs.superpixels)
    if untracked is not None:
        measurement = _add_untracked(measurement, untracked, case.truth)
    out.mkdir(parents=True, exist_ok=True)
    write_montage(out / MONTAGE_FILE, case, result)
    scores = [epochs.at(record.epoch) for record in result.history.records]
    course = Course.of(result.history, [each.prior_mae for each in scores], [each.f1 for each in scores])
    write_record(Record(result.masks, untracked, course, epochs.show()), out / RECORD_FILE)
    if epochs.superpixels is not None:
        likely = region_probabilities(epochs.superpixels, result.probabilities.values)
        write_arrays(out / REGIONS_FILE, {"f": likely.astype(np.float16), "counts": epochs.superpixels.counts})
    write_json(out / RESULT_FILE, asdict(measurement))
    shutil.rmtree(out / RUN_FOLDER, ignore_errors=True)
    (out / EPOCHS_FILE).unlink(missing_ok=True)


def measure_ceiling(order: CeilingOrder) -> None:
    """Max SP with the superpixels of the paper, whatever those of a method are: one ceiling a sequence."""
    from fewpoint.evaluation.ceiling import score_ceiling
    from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames

    superpixels = segment_frames(read_sequence(order.input), SuperpixelSettings(), jobs=1)
    max_sp = score_ceiling(superpixels, read_masks(order.truth)).pooled.f1
    Path(order.out).parent.mkdir(parents=True, exist_ok=True)
    write_ceiling(Path(order.out), max_sp)


def _build(order: CellOrder, truth: np.ndarray, listener: Listener) -> Segmenter:
    """The method of an order; one that needs the truth is handed it here."""
    folder = Path(order.out) / RUN_FOLDER if order.resumes else None
    if order.method not in ORACLES:
        given = (order.method, order.job.changes, order.job.device, listener, order.job.witness or "")
        return build_method(*given, folder)
    settings = find_settings(order.method, order.job.changes)
    return build_oracle(order.method, truth, settings, order.job.device, listener, folder)


def _measure(result: Result, truth: np.ndarray, epochs: EpochScores, seconds: float) -> Measurement:
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
    order: CellOrder, result: Result, case: Case, superpixels: SuperpixelMap | None
) -> np.ndarray | None:
    """(T, H, W) bool masks that the same run would have given without tracking; None for a method without it."""
    settings = find_settings(order.method, order.job.changes)
    if not has_setting(settings, "tracking.enabled") or not settings.tracking.enabled:
        return None
    if superpixels is None:
        raise ValueError(f"{order.method} must report its superpixels to be scored without its last step")
    untracked = override(settings, "tracking.enabled", False)
    if not is_own(order.method):
        from fewpoint.methods.competitors import network_learning  # loads torch

        given = (superpixels, result.probabilities, case.points, result.bound)
        return network_learning.choose_masks(*given, untracked.tracking)
    from fewpoint.pipeline.masks import choose_labels
    from fewpoint.pipeline.task import Task

    task = Task(case.sequence, case.points, result.bound, untracked)
    return choose_labels({"": task}, superpixels, (result.probabilities,), (None,)).labels.view(bool)


def _add_untracked(measurement: Measurement, masks: np.ndarray, truth: np.ndarray) -> Measurement:
    score = score_masks(masks, truth).pooled
    return replace(
        measurement,
        f1_untracked=score.f1,
        precision_untracked=score.precision,
        recall_untracked=score.recall,
    )
