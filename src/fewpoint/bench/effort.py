"""A person is played who corrects masks: a run, then rounds of words, each followed by a refinement."""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewpoint.bench.cases import MONTAGE_FILE, RESULT_FILE, Case, read_case, write_montage
from fewpoint.bench.methods import find_settings
from fewpoint.bench.person import DIAL, NONE, SUGGESTED, Effort, Said, is_among_worst, speak, turn_dial
from fewpoint.bench.protocols import give_bound
from fewpoint.bench.rounds import Round, Scores
from fewpoint.core import PointSet, Result, StageStarted, Words
from fewpoint.core.job import Job
from fewpoint.core.progress import Event
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.thresholds import score_cuts
from fewpoint.io.atomic import read_json, remove, write_json
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.report.judging import judge
from fewpoint.runs.live import Live

if TYPE_CHECKING:
    from fewpoint.pipeline.task import Task

RUN_FOLDER, ROUNDS_FOLDER = "run", "rounds"
ROUND_FILE, FIRST_MONTAGE_FILE = "round.json", "montage-0.png"
NO_FILES = Outputs(formats=(), report=False)
WRITING = "report"  # the stage in which results are written: what a person waits for is there before it


@dataclass(frozen=True)
class EffortOrder:
    """Run a job once and correct its masks by each of some efforts, which all start with the job's points.

    truth, bound: as in CellOrder. start: folder of the run that all efforts correct, left there for as long as one of
    them is not finished. efforts: each with the folder for its result.
    """

    job: Job
    truth: str
    bound: str
    start: str
    efforts: tuple[tuple[Effort, str], ...]

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "EffortOrder":
        efforts = tuple((Effort(**effort), out) for effort, out in table["efforts"])
        return cls(**{**table, "job": Job.from_table(table["job"]), "efforts": efforts})

    def as_table(self) -> dict[str, Any]:
        efforts = [[asdict(effort), out] for effort, out in self.efforts]
        return {**vars(self), "job": self.job.as_table(), "efforts": efforts}


def run_efforts(order: EffortOrder) -> None:
    """Make one effort after the other; each leaves its result last, so that its presence means a finished cell.

    An effort that fails leaves the others alone, and its error is raised after them.
    """
    errors: list[Exception] = []
    case = read_case(order.job, order.truth, order.efforts[0][0].points)
    make_start(order, case)
    for effort, out in order.efforts:
        try:
            make_effort(Correction(order, case, effort, Path(out)))
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    remove(Path(order.start))


@dataclass(frozen=True, eq=False)
class Correction:
    """One effort of an order on its case, in the folder `out`."""

    order: EffortOrder
    case: Case
    effort: Effort
    out: Path

    def run(self, number: int) -> Path:
        """The run folder of a round."""
        return Path(self.order.start) / RUN_FOLDER if number == 0 else self.out / ROUNDS_FOLDER / str(number)

    def record(self, number: int) -> Path:
        """What is kept of a round."""
        return Path(self.order.start) / ROUND_FILE if number == 0 else self.out / ROUNDS_FOLDER / f"{number}.json"

    def read_rounds(self) -> list[Round]:
        """The rounds that are finished, at least round 0."""
        rounds: list[Round] = []
        while (path := self.record(len(rounds))).exists():
            rounds.append(Round.from_table(read_json(path)))
        return rounds

    @property
    def started(self) -> Said:
        """The points at the start, as words."""
        points = self.case.points
        return Said(_as_places(points.coordinates), _as_places(points.negatives))


def make_start(order: EffortOrder, case: Case) -> None:
    """Round 0, which all efforts share: the run without any words."""
    from fewpoint.pipeline.task import Task  # loads torch

    folder, job = Path(order.start), order.job
    if (folder / ROUND_FILE).exists():
        return
    settings = find_settings(job.method or "", job.changes)
    bound = give_bound(order.bound, case.truth)
    task = Task(case.sequence, case.points, bound, settings, job.seed or 0, job.device, NO_FILES)
    folder.mkdir(parents=True, exist_ok=True)
    seconds = run_timed(task, folder / RUN_FOLDER)
    result = load_result(folder / RUN_FOLDER)
    write_montage(folder / MONTAGE_FILE, case, result)
    write_json(folder / ROUND_FILE, asdict(Round(0, Said(), 0, 0, score_result(result, case.truth), seconds)))


def make_effort(correction: Correction) -> None:
    """All rounds that are not finished yet; then the result, and nothing is left of the runs in between."""
    folder = correction.out / ROUNDS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    rounds = correction.read_rounds()
    while len(rounds) <= correction.effort.rounds:
        each = take_round(correction, rounds)
        write_json(correction.record(each.number), asdict(each))
        rounds.append(each)
        for number in range(1, each.run):
            remove(correction.run(number))
    result = load_result(correction.run(rounds[-1].run))
    shutil.copyfile(Path(correction.order.start) / MONTAGE_FILE, correction.out / FIRST_MONTAGE_FILE)
    write_montage(correction.out / MONTAGE_FILE, gather(correction, rounds)[0], result)
    write_json(correction.out / RESULT_FILE, {"rounds": [asdict(each) for each in rounds]})
    remove(folder)


def take_round(correction: Correction, rounds: list[Round]) -> Round:
    """Look at the masks of the last round, say something, and refine the run; without a word the masks stay."""
    case, effort, last = correction.case, correction.effort, rounds[-1]
    result = load_result(correction.run(last.run))
    suggested = suggest_frame(correction.case, result, find_corrected(rounds, effort))
    said = say(correction, rounds, result, suggested)
    judged = None if suggested is None else is_among_worst(suggested, result.masks ^ case.truth)
    each = replace(
        last,
        number=last.number + 1,
        said=said,
        words=last.words + said.count,
        seconds=None,
        suggested=suggested,
        suggested_worst=judged,
    )
    if said.count == 0 and effort.words != NONE:
        return each
    seconds = refine_timed(correction, [*rounds, each], last.run)
    scores = score_result(load_result(correction.run(each.number)), case.truth)
    return replace(each, run=each.number, scores=scores, seconds=seconds)


def say(correction: Correction, rounds: list[Round], result: Result, suggested: int | None) -> Said:
    """The words of a round; none if the person looks at suggested frames only and there is none left."""
    effort, case = correction.effort, correction.case
    if effort.look == SUGGESTED and suggested is None:
        return Said()
    truth = case.truth.copy()
    truth[list(case.points.absent)] = False  # they have said so themselves
    before = combine([correction.started, *(each.said for each in rounds)])
    if effort.words == DIAL:
        return Said(size=turn_dial(_show_sizes(correction, rounds), truth, before.size or 1.0))
    return speak(effort.words, result.masks, truth, before, suggested if effort.look == SUGGESTED else None)


def _show_sizes(correction: Correction, rounds: list[Round]) -> Callable[[float], np.ndarray]:
    """The masks of the last round with the dial at a size, as a person sees them who drags it."""
    case, words = gather(correction, rounds)
    name = (case.points.object_names or ("",))[0]
    live = Live(case.sequence, run=correction.run(rounds[-1].run))
    return lambda size: live.answer(case.points, {name: replace(words, size=size)})[name]


def suggest_frame(case: Case, result: Result, corrected: set[int]) -> int | None:
    """The frame that the program calls most worth a look, of those that are not corrected yet."""
    ranking = judge(case.sequence, case.points, result).ranking
    return next((entry.frame for entry in ranking if entry.frame not in corrected), None)


def find_corrected(rounds: Iterable[Round], effort: Effort) -> set[int]:
    """Frames that were corrected, or found right where the program had suggested to look."""
    rounds = tuple(rounds)
    looked = {each.suggested for each in rounds if each.suggested is not None}
    return combine(each.said for each in rounds).frames | (looked if effort.look == SUGGESTED else set())


def combine(words: Iterable[Said]) -> Said:
    """All words in one."""
    every = Said()
    for said in words:
        every = every.and_then(said)
    return every


def gather(correction: Correction, rounds: Iterable[Round]) -> tuple[Case, Words]:
    """The case with all points up to the last of some rounds, and the words about the object."""
    case, said = correction.case, combine(each.said for each in rounds)
    outlined = {frame: case.truth[frame] for frame in said.outlined}
    words = Words.of(outlined, size=1.0 if said.size is None else said.size)
    return replace(case, points=add_places(case.points, said)), words


def add_places(points: PointSet, said: Said) -> PointSet:
    """Points with further ones; if they name their only object, the same name."""
    rows, negatives = (_as_places(places) for places in (points.coordinates, points.negatives))
    names = (*points.objects, *points.object_names * len(said.clicks)) if points.objects else ()
    others = (*points.negative_objects, *[""] * len(said.negatives)) if points.negative_objects else ()
    return PointSet.from_rows([*rows, *said.clicks], points.absent, names, (*negatives, *said.negatives), others)


def refine_timed(correction: Correction, rounds: list[Round], run: int) -> float:
    """Refine the run of an earlier round by all that was said; the seconds it took."""
    from fewpoint.pipeline.task import Task  # loads torch
    from fewpoint.runs.previous import load_previous

    job, (case, words) = correction.order.job, gather(correction, rounds)
    previous = load_previous(correction.run(run))
    task = Task(
        case.sequence,
        case.points,
        None,
        previous.settings,
        job.seed or 0,
        job.device,
        NO_FILES,
        previous=previous,
        words=() if words.empty else (((case.points.object_names or ("",))[0], words),),
    )
    return run_timed(task, correction.run(rounds[-1].number))


def run_timed(task: "Task", path: Path) -> float:
    """Run a task in a folder, or go on with it; seconds until there are masks, those of earlier starts included."""
    from fewpoint.io.runs import COSTS_FILE
    from fewpoint.runs.runner import run_task  # loads torch

    with RunFolder.open(path, task.identity()) as folder:
        costs = folder.artefact(COSTS_FILE)
        earlier = read_json(costs)["seconds"] if costs.exists() else {}
        watch = Stopwatch()
        run_task(task, folder, watch)
    return watch.seconds + sum(seconds for stage, seconds in earlier.items() if stage != WRITING)


class Stopwatch:
    """A listener that knows how long it took until masks were there to be written."""

    def __init__(self) -> None:
        self._started, self._stopped = time.perf_counter(), 0.0

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage == WRITING:
            self._stopped = time.perf_counter()

    @property
    def seconds(self) -> float:
        return (self._stopped or time.perf_counter()) - self._started


def score_result(result: Result, truth: np.ndarray) -> Scores:
    """Scores of masks and probabilities against (T, H, W) bool truth."""
    score = score_masks(result.masks, truth).pooled
    cuts = score_cuts(result.probabilities.values, truth)
    area = np.count_nonzero(result.masks) / max(np.count_nonzero(truth), 1)
    return Scores(score.f1, score.precision, score.recall, area, cuts.one_threshold, cuts.true_sizes)


def _as_places(rows: np.ndarray) -> tuple[tuple[int, int, int], ...]:
    return tuple((frame, y, x) for frame, y, x in rows.tolist())
