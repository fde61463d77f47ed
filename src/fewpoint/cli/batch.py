"""`fewpoint batch`: many sequences, on one machine or many; `fewpoint batch-status`: how far it is."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.bench import describe_pace
from fewpoint.cli.engines import EngineName, EngineOptions
from fewpoint.cli.grouping import grouped
from fewpoint.cli.options import (
    DeviceName,
    MaxFraction,
    MethodOptions,
    OutputOptions,
    ReadingOptions,
    Sizes,
    parse_bounds,
    parse_words,
)
from fewpoint.cli.outputs import AsJson, print_json
from fewpoint.cli.voice import is_quiet, say, tell
from fewpoint.core import Message
from fewpoint.core.job import Job
from fewpoint.core.plain_text import show_plainly
from fewpoint.errors import FewpointError, InputError

if TYPE_CHECKING:
    from fewpoint.batch.checks import Checked, Defaults
    from fewpoint.batch.folder import BatchFolder
    from fewpoint.batch.run import BatchListener, BatchResult, PlannedItem
    from fewpoint.batch.status import Status
    from fewpoint.engines.jobs import Standing
    from fewpoint.io.rows import Row

SECONDS_BETWEEN_LINES = 30.0
MOST_NAMED, MOST_SHOWN = 3, 8

ManifestPath = Annotated[
    Path,
    typer.Argument(
        metavar="MANIFEST.csv",
        help="One row per sequence: input, points, name, max_fraction and others; or a folder of inputs with points.",
    ),
]
OutPath = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the runs; finished ones in it are kept.")
]
BatchPath = Annotated[Path, typer.Argument(metavar="DIR", help="The --out of fewpoint batch.")]
Retries = Annotated[
    int,
    typer.Option(
        "--retries", metavar="K", min=0, help="Further attempts at jobs that crashed, were killed or were lost."
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Continue without the rows that cannot be run.")]
WarmStart = Annotated[
    str | None,
    typer.Option(
        "--warm-start",
        metavar="MODEL|previous",
        help="Start all rows from the networks of a finished run, its folder or model.npz; "
        "previous: the first row goes first, and the others start from its networks.",
    ),
]
PREVIOUS = "previous"
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Check every row and report what would be run, kept or run again; start nothing."),
]


@dataclass(frozen=True)
class StudyOptions:
    """What is done with the rows, and holds for all that do not say otherwise."""

    dry_run: DryRun = False
    retries: Retries = 2
    skip_bad: SkipBad = False
    max_fraction: MaxFraction = None
    sizes: Sizes = None
    warm_start: WarmStart = None


@grouped
def batch_command(
    manifest: ManifestPath,
    out: OutPath,
    study: StudyOptions,
    engine: EngineOptions,
    reading: ReadingOptions,
    how: MethodOptions,
    wanted: OutputOptions,
) -> None:
    """Segment every sequence of MANIFEST.csv.

    Every row is checked before anything starts. Run it again to continue: finished sequences are kept, changed ones are
    run again. Writes one run folder per sequence, summary.csv and index.html. Options hold for all rows without a value
    in the column.
    """
    how.refuse_combinations(False, study.warm_start is not None)
    from fewpoint.batch.folder import BatchFolder, refuse_foreign
    from fewpoint.batch.manifest import read_rows
    from fewpoint.batch.run import plan_batch, run_after_first, run_batch

    rows = read_rows(manifest)
    refuse_foreign(out)
    chosen = engine.build()
    defaults = _choose_defaults(_make_job(study, reading, how, wanted), rows, engine)
    checked = _check(rows, defaults, out)
    if study.dry_run:
        _tell_plan(checked, plan_batch(checked, out), wanted.as_json)
    _tell_bad(checked, study.skip_bad)
    if study.dry_run:
        return

    def recheck(model: Path) -> "Checked":
        return _check(rows, replace(defaults, job=replace(defaults.job, warm_start=str(model))), out)

    with show_batch(BatchFolder(out).path, quiet=wanted.as_json) as listener:
        given = (out.absolute(), chosen, listener, study.retries)
        from_first = study.warm_start == PREVIOUS
        result = run_after_first(checked, recheck, *given) if from_first else run_batch(checked, *given)
    _tell(result, out, wanted.as_json)


def _make_job(study: StudyOptions, reading: ReadingOptions, how: MethodOptions, wanted: OutputOptions) -> Job:
    """What holds for all rows."""
    warm_start = study.warm_start
    return replace(
        how.to_job(),
        reading=reading.to_reading(),
        bounds=parse_bounds(study.max_fraction, None),
        added_words=parse_words(None, None, study.sizes),
        outputs=wanted.to_choice(),
        warm_start=None if warm_start is None or warm_start == PREVIOUS else _find_model(Path(warm_start)),
    )


def batch_status_command(folder: BatchPath, as_json: AsJson = False) -> None:
    """Show how far the batch in DIR is, from any shell."""
    from fewpoint.batch.status import read_status

    status = read_status(folder)
    if as_json:
        print_json("batch-status", asdict(status))
        return
    for line in describe_status(status):
        print(show_plainly(line))


def describe_status(status: "Status") -> list[str]:
    """The whole in one line, then a line for each item at work and each that failed."""
    total = sum(status.counts.values())
    counts = ", ".join(f"{count} {state}" for state, count in status.counts.items())
    left = "" if status.seconds_left is None else f", {_describe_left(status.seconds_left)}"
    age = max(0, round(time.time() - status.at))
    return [
        f"{status.state}: {counts}, of {total}{left}; last update {age} s ago",
        *(f"  {name}: {text}" for name, text in status.running.items()),
        *(f"  {name}: failed" for name in status.failed),
    ]


@contextmanager
def show_batch(path: Path, quiet: bool = False) -> "Iterator[BatchListener]":
    """A listener that shows how far a batch is: live on a terminal, lines elsewhere; quiet, or -q, only failures."""
    from fewpoint.batch.folder import BatchFolder

    if quiet or is_quiet():
        yield _tell_failures
        return
    folder = BatchFolder(path)
    if not sys.stderr.isatty():
        yield PlainLines(lambda names: _describe_items(folder, names))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (MofNCompleteColumn(), BarColumn(bar_width=16), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=None)

        def show(event: "Standing | Message") -> None:
            for line in describe_event(event):
                progress.console.print(show_plainly(line), markup=False, highlight=False)
            if not isinstance(event, Message):
                lines = [describe_pace(event), *_describe_items(folder, event.running[:MOST_SHOWN])]
                progress.update(task, total=event.total, completed=event.done, description="\n".join(lines))

        yield show


class PlainLines:
    """Lines for logs: what ended, and every half minute what is at work."""

    def __init__(self, describe_items: Callable[[tuple[str, ...]], list[str]]) -> None:
        self._describe_items = describe_items
        self._last = time.monotonic()

    def __call__(self, event: "Standing | Message") -> None:
        for line in describe_event(event):
            tell(line)
        if not isinstance(event, Message) and time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            at_work = "; ".join(self._describe_items(event.running))
            tell(f"[{event.done}/{event.total}] {describe_pace(event)}: {at_work}")


def _tell_failures(event: "Standing | Message") -> None:
    if not isinstance(event, Message) and event.ended is not None and event.ended.error:
        for line in describe_event(event):
            tell(line)


def describe_event(event: "Standing | Message") -> list[str]:
    """What a person should read at once: messages, and attempts that are over."""
    from fewpoint.engines.jobs import summarise_error

    if isinstance(event, Message):
        return [show_plainly(event.text)]
    if event.failed is not None:
        failed, why = event.failed, show_plainly(summarise_error(event.failed.error))
        if failed.lost:
            return [f"{failed.job.name}: its machine was lost, goes on when the cluster has one: {why}"]
        return [f"{failed.job.name}: attempt {failed.attempt} failed, tried again: {why}"]
    if event.ended is None:
        return []
    ended = event.ended
    came = f"failed: {show_plainly(summarise_error(ended.error))}" if ended.error else f"{ended.seconds:.1f} s"
    return [f"[{event.done}/{event.total}] {ended.job.name}: {came} ({describe_pace(event)})"]


def _describe_items(folder: "BatchFolder", names: tuple[str, ...]) -> list[str]:
    from fewpoint.batch.status import describe_item

    return [f"{name}: {describe_item(folder, name)}" for name in names]


def _describe_left(seconds: float) -> str:
    from fewpoint.report.wording import format_seconds

    return f"{format_seconds(seconds)} left"


def _choose_defaults(job: Job, rows: "tuple[Row, ...]", engine: EngineOptions) -> "Defaults":
    """What holds for all rows; torch is asked for the device only if some row may depend on it."""
    from fewpoint.batch.checks import Defaults
    from fewpoint.methods.resolve import refuse_unknown_changes

    if not any("method" in row.values for row in rows):
        refuse_unknown_changes(job)

    presets = {row.values.get("preset", job.preset) for row in rows if "method" not in row.values}
    depends = job.method is None and bool(presets & {None, "auto"})
    return Defaults(job, _find_kind(engine, DeviceName(job.device)) if depends else "cpu")


def _find_kind(engine: EngineOptions, device: DeviceName) -> str:
    """The kind of device that jobs will have. Ray shows a job the GPUs that it asked for and no other."""
    if engine.engine == EngineName.RAY:
        on_gpu = device == DeviceName.CUDA or (device == DeviceName.AUTO and engine.gpus_per_job > 0)
        return "cuda" if on_gpu else "cpu"
    from fewpoint.learning.devices import choose_device

    return choose_device(device).type


def _check(rows: "tuple[Row, ...]", defaults: "Defaults", out: Path) -> "Checked":
    """Check all rows, with a line now and then if it takes long."""
    from fewpoint.batch.checks import check_study

    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_LINES / 3:
            last = time.monotonic()
            print(f"checked {done} of {total}", file=sys.stderr, flush=True)

    return check_study(rows, defaults, out, tell)


def _find_model(path: Path) -> str:
    """The path made absolute, for jobs may start elsewhere; InputError if no networks lie there."""
    from fewpoint.pipeline.model import load_model

    load_model(path)
    return str(path.absolute())


def _tell_plan(checked: "Checked", planned: "tuple[PlannedItem, ...]", as_json: bool) -> None:
    """What a start would do with each row."""
    if as_json:
        rows = [asdict(each) for each in planned]
        print_json("batch", {"dry_run": True, "rows": rows, "bad": [asdict(row) for row in checked.bad]})
        return
    for each in planned:
        changed = f": different {', '.join(each.differences)}" if each.differences else ""
        say(f"{each.action:10}{each.name}  {each.input}{changed}")
    counts = Counter(each.action for each in planned)
    told = ", ".join(f"{action} {count}" for action, count in sorted(counts.items()))
    say(f"{told or 'nothing to run'}; {len(checked.bad)} bad rows; nothing was started")


def _tell_bad(checked: "Checked", skip: bool) -> None:
    for each in checked.items:
        for doubt in each.doubts:
            tell(f"warning: {each.job.name}: {doubt}")
    bad, total = checked.bad, len(checked.bad) + len(checked.items)
    for row in bad:
        tell(" ".join(f"{row.place}, {row.name or 'no name'}: {row.reason}".split()))
    if bad and not skip:
        raise InputError(
            f"{len(bad)} of {total} rows cannot be run, nothing was started; correct them, or give --skip-bad"
        )
    if len(bad) == total:
        raise InputError(f"none of the {total} rows can be run; correct them")


def _tell(result: "BatchResult", out: Path, as_json: bool) -> None:
    """Say what came out and which results to look at first; then, if any item failed, say so as an error."""
    from fewpoint.batch.summary import State

    finished = [entry for entry in result.entries if entry.state == State.FINISHED]
    if as_json:
        places = {"summary": str(out / "summary.csv"), "index": str(out / "index.html")}
        rows = [
            {"name": entry.name, "state": str(entry.state), "run": str(out / "runs" / entry.name), "error": entry.error}
            for entry in result.entries
        ]
        print_json("batch", {"dry_run": False, **places, "kept": list(result.kept), "rows": rows})
    else:
        say(f"{len(finished)} of {len(result.entries)} finished, {len(result.kept)} of them before")
        scores = [(entry.name, entry.health.score) for entry in finished if entry.health is not None]
        for name, score in scores[:MOST_NAMED]:
            say(f"review first: {name}; quality check {score:.2f}")
        say(f"summary: {out / 'summary.csv'}")
        say(f"index:   {out / 'index.html'}")
    if result.failures:
        names = [entry.name for entry in result.failures]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        raise FewpointError(
            f"failed: {', '.join(names[:MOST_NAMED])}{more}; everything else is written. The reason is in "
            f"{out / 'logs' / (names[0] + '.log')}; run the same command to try again"
        )
