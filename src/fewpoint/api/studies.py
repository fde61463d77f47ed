"""What is done with results and with many sequences: read, convert, collect, run a batch, evaluate."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewpoint.api.segmenting import Saving
from fewpoint.api.watching import Cancel, Progress, ProgressCallback
from fewpoint.core import Message, Result
from fewpoint.core.geometry import Geometry
from fewpoint.core.given import need, need_path, need_real, need_whole
from fewpoint.core.job import Job
from fewpoint.core.relabelling import Relabelling
from fewpoint.core.source import Source
from fewpoint.errors import CancelledError, FewpointError, InputError
from fewpoint.evaluation.judging import Evaluation, judge_labels, judge_masks
from fewpoint.evaluation.surfaces import Spacing, spacing_of
from fewpoint.io import runs as run_folders
from fewpoint.io.atomic import place_new
from fewpoint.io.masks import read_mask_stack, to_labels, to_masks
from fewpoint.io.rows import Row
from fewpoint.io.volumes import Stack, is_same_place

if TYPE_CHECKING:
    from fewpoint.batch.checks import BadRow, Checked
    from fewpoint.batch.run import BatchResult, PlannedItem
    from fewpoint.engines.jobs import Engine, Standing
    from fewpoint.runs.collecting import Collection

Masks = Result | np.ndarray | str | Path
SEG = "dicom-seg"
Manifest = str | Path | Sequence[Mapping[str, str]]


def load_result(folder: str | Path, *, frames: bool = True) -> Result:
    """The result of a finished run, except for the course of its training.

    folder: the run's, such as the out of segment. frames: whether to read the frames too, for pictures of the result;
    they are left out if they are gone or changed.
    """
    path = need_path(folder, "folder")
    result = run_folders.load_result(path)
    if not frames:
        return result
    from fewpoint.runs.exports import read_input

    with suppress(FewpointError):
        return replace(result, sequence=read_input(path, result))
    return result


def convert(
    run: str | Path | Result,
    saving: Saving = Saving(("auto",)),
    out: str | Path | None = None,
    *,
    labels: Relabelling = Relabelling(),
    store: str = "",
) -> tuple[Path, ...]:
    """Write masks in other formats; returns the files.

    run: the folder of a finished run, or a result. saving: which formats, and whether probabilities too.
    out: a folder, that of the run if it is None; nothing in another is overwritten unless it is the same.
    labels: what objects are called in the files, and their codes in DICOM SEG.
    store: a PACS, as "dicomwebs://HOST/ROOT", or "back" for that of the images, in which the masks are stored as DICOM
    SEG, too, unless they are there; credentials come from the environment or a netrc file.
    """
    saving = _with_seg(need(saving, Saving, "saving", "a Saving"), need(store, str, "store", "an address"))
    need(labels, Relabelling, "labels", "a Relabelling")

    def relabel(result: Result) -> Result:
        labels.check(each.name for each in result.objects)
        return labels.apply(result)

    if isinstance(run, Result):
        if out is None:
            raise InputError("a result needs a folder to be written into; give out")
        written = _convert_result(relabel(run), saving, need_path(out, "out"))
        return _store(written, store, run.source)
    from fewpoint.runs.exports import convert_run

    folder = need_path(run, "run")
    place = folder if out is None else need_path(out, "out")
    return _store(convert_run(folder, saving.to_outputs(), place, relabel), store, run_folders.load_source(folder))


def collect(
    runs: Iterable[str | Path] | str | Path,
    out: str | Path,
    layout: str = "flat",
    *,
    labels: Relabelling = Relabelling(),
    mask_format: str = "auto",
    images: bool = True,
    tell: Callable[[str], None] = lambda line: None,
) -> "Collection":
    """Gather the masks of many runs in one folder, by the names of theirs.

    runs: folders of finished runs, or folders that hold such, as that of a batch. out: new, or of an earlier
    collection, which is replaced. layout: nnunet, bids, coco or flat. labels: what objects are called, their codes in
    DICOM SEG, and the order of their numbers, which are the same in all runs. mask_format: of the flat layout.
    images: whether the frames are written too, for nnunet and coco. tell: gets a line about each run that is left out.
    """
    from fewpoint.io.formats import FILES
    from fewpoint.runs.collecting import Choice, Layout, collect_runs

    folders = [runs] if isinstance(runs, str | Path) else need(runs, Iterable, "runs", "folders of runs")
    if layout not in list(Layout):
        raise InputError(f"layout must be one of {', '.join(Layout)}, got {layout!r}")
    if mask_format not in ("auto", *FILES):
        raise InputError(f"mask_format must be one of auto, {', '.join(FILES)}, got {mask_format!r}")
    need(labels, Relabelling, "labels", "a Relabelling")
    choice = Choice(Layout(layout), labels, mask_format, need(images, bool, "images", "True or False"))
    return collect_runs([need_path(each, "a run") for each in folders], need_path(out, "out"), choice, tell)


def recut(
    run: str | Path,
    *,
    threshold: float | None = None,
    size: float | None = None,
    clean: bool = False,
    out: str | Path | None = None,
    saving: Saving = Saving(("auto",)),
) -> Result:
    """The masks of a finished run cut anew from its probabilities; nothing is learnt, and the run stays as it is.

    run: its folder. threshold: probability from which a pixel belongs to the object, 0.5 in a run. size: instead, how
    many times larger the masks should be. clean: leave out parts that hang together with no click.
    out: a folder to write the new masks into, new or of an earlier recut; None for no files. saving: in which formats.
    """
    from fewpoint.runs import recutting

    folder = need_path(run, "run")
    cut = None if threshold is None else need_real(threshold, "threshold")
    factor = None if size is None else need_real(size, "size")
    wish = recutting.Recut(cut, factor, need(clean, bool, "clean", "True or False"))
    outputs = need(saving, Saving, "saving", "a Saving").to_outputs()
    if out is not None:
        recutting.recut_run(folder, wish, need_path(out, "out"), outputs)
    points, words = run_folders.read_told(folder)
    return recutting.recut(load_result(folder), points, dict(words), wish).result


@dataclass(frozen=True)
class BatchPlan:
    """What a batch would do: with each row that can be run, and why the others cannot."""

    rows: "tuple[PlannedItem, ...]"
    bad: "tuple[BadRow, ...]"


def plan_batch(manifest: Manifest, out: str | Path, defaults: Job = Job()) -> BatchPlan:
    """Check every row of a batch and say what run_batch would do with it; starts nothing.

    What was read is remembered in the folder. manifest, out, defaults: those of run_batch.
    """
    from fewpoint.batch import run as batch_run

    folder = need_path(out, "out")
    checked = _check(manifest, folder, defaults)
    return BatchPlan(batch_run.plan_batch(checked, folder), checked.bad)


def run_batch(  # noqa: PLR0913 - what a user may say
    manifest: Manifest,
    out: str | Path,
    defaults: Job = Job(),
    *,
    jobs: int | None = None,
    gpus_per_job: float = 0.0,
    retries: int = 2,
    skip_bad: bool = False,
    engine: "Engine | None" = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> "BatchResult":
    """Segment every sequence of a study, each in a process of its own; what is finished is kept.

    manifest: a CSV with a row for each sequence, a folder of inputs with points, or the rows themselves, as columns and
    their text. out: a folder for the batch, which another call goes on with. defaults: what holds for all rows that do
    not say otherwise: preset, changes, device, outputs, bounds, seed and so on.
    jobs: how many at once. gpus_per_job: share of a GPU that each takes. retries: further attempts at what crashed.
    skip_bad: go on without rows that cannot be run, instead of an InputError. engine: what runs them, such as a
    RayEngine of fewpoint.engines.cluster; processes of this machine if it is None.
    progress: called as rows end. cancel: ends the batch with CancelledError when a row ends after it is set.
    A script that calls this on Windows or macOS needs `if __name__ == "__main__":` round the call.
    """
    from fewpoint.batch import run as batch_run
    from fewpoint.engines.processes import LocalEngine

    folder = need_path(out, "out")
    checked = _check(manifest, folder, defaults)
    if checked.bad and (not skip_bad or not checked.items):
        row = checked.bad[0]
        total = len(checked.bad) + len(checked.items)
        raise InputError(
            f"{len(checked.bad)} of {total} rows cannot be run, nothing was started; "
            f"the first is {row.place}: {row.reason}"
        )
    if engine is None:
        count = None if jobs is None else need_whole(jobs, "jobs")
        engine = LocalEngine(count, need_real(gpus_per_job, "gpus_per_job"))
    return batch_run.run_batch(
        checked, folder.absolute(), engine, _follow_batch(progress, cancel), need_whole(retries, "retries")
    )


def evaluate(masks: Masks, truth: Masks, *, spacing_mm: Spacing | None = None) -> Evaluation:
    """How good masks are, given the truth: overlap, distance of the surfaces, error of the volume.

    masks, truth: a result, a (T, H, W) array that is not zero on the object, or any path that read_masks takes.
    spacing_mm: between frames, rows and columns of a volume, or between rows and columns of frames over time; None for
    that of the files or results, and pixels if they have none.

    >>> truth = np.zeros((2, 4, 4), bool)
    >>> truth[:, 1:3, 1:3] = True
    >>> evaluate(truth, truth).f1
    1.0
    """
    one, other = _open_masks(masks, "masks"), _open_masks(truth, "truth")
    spacing = _join_spacing(one, other, spacing_mm)
    return judge_masks(to_masks(one, "masks"), to_masks(other, "truth"), spacing)


def evaluate_objects(masks: Masks, truth: Masks, *, spacing_mm: Spacing | None = None) -> dict[int, Evaluation]:
    """evaluate for each object of label maps, by its number.

    masks, truth: as for evaluate, with pixels that are the number of an object, 0 for none; a result has its own
    numbers, from 1. spacing_mm: as for evaluate.
    """
    one, other = _open_masks(masks, "masks"), _open_masks(truth, "truth")
    spacing = _join_spacing(one, other, spacing_mm)
    return judge_labels(to_labels(one, "masks"), to_labels(other, "truth"), spacing)


def _with_seg(saving: Saving, store: str) -> Saving:
    """With the format that a PACS takes, if anything is to be stored."""
    return replace(saving, formats=tuple(dict.fromkeys((*saving.formats, SEG)))) if store else saving


def _store(written: tuple[Path, ...], store: str, source: Source | None) -> tuple[Path, ...]:
    """Store the DICOM SEG among files, if that is wanted; returns the files."""
    if store:
        from fewpoint.io.formats import FILES
        from fewpoint.io.pacs.service import Pacs
        from fewpoint.io.pacs.storing import choose_pacs, origin_of, store_seg

        (path,) = (path for path in written if path.name == FILES[SEG])
        store_seg(path, Pacs.at(choose_pacs(store, origin_of(source))))
    return written


def _convert_result(result: Result, saving: Saving, out: Path) -> tuple[Path, ...]:
    from fewpoint.runs.exports import write_film

    outputs, sequence = saving.to_outputs(), result.sequence
    outputs.check(result.source)
    if outputs.film and sequence is None:
        raise InputError("a video needs the frames, this result has none; convert the folder of its run")

    def write(place: Path) -> tuple[Path, ...]:
        written = outputs.write(result, place)
        return (*written, write_film(sequence, result, place)) if outputs.film and sequence is not None else written

    return place_new(out, write)


def _check(manifest: Manifest, out: Path, defaults: Job) -> "Checked":
    from fewpoint.batch.checks import Defaults, check_study
    from fewpoint.batch.folder import refuse_foreign
    from fewpoint.learning.devices import choose_device

    job = need(defaults, Job, "defaults", "a Job")
    refuse_foreign(out)
    return check_study(_read_rows(manifest), Defaults(job, choose_device(job.device).type), out)


def _read_rows(manifest: Manifest) -> tuple[Row, ...]:
    from fewpoint.batch.manifest import check_columns, read_rows

    if isinstance(manifest, str | Path):
        return read_rows(Path(manifest))
    rows = []
    for number, given in enumerate(need(manifest, Sequence, "manifest", "a path, or rows"), start=1):
        values = {
            need(name, str, "a column", "a name"): str(value).strip()
            for name, value in need(given, Mapping, f"row {number}", "text by column").items()
        }
        check_columns(list(values), f"row {number}")
        rows.append(Row(f"row {number}", Path.cwd(), {name: value for name, value in values.items() if value}))
    if not rows:
        raise InputError("a batch needs a row for each sequence, got none")
    return tuple(rows)


def _follow_batch(progress: ProgressCallback | None, cancel: Cancel | None) -> "Callable[[Standing | Message], None]":
    def listen(event: "Standing | Message") -> None:
        if cancel is not None and cancel.is_set():
            raise CancelledError("the batch was cancelled; the same call continues it")
        if progress is None:
            return
        if isinstance(event, Message):
            progress(Progress("batch", message=event.text, warning=event.warning))
        elif event.ended is not None:
            told = f"{event.ended.job.name} failed" if event.ended.error else f"{event.ended.job.name} is finished"
            share = event.done / max(1, event.total)
            progress(Progress("batch", share, 0.0, event.seconds_left, told, bool(event.ended.error)))

    return listen


def _open_masks(masks: Masks, what: str) -> Stack:
    """Masks as a stack, whatever they are given as."""
    if isinstance(masks, Result):
        values, geometry = masks.labels.values, None if masks.source is None else masks.source.geometry
        return Stack(values[..., np.newaxis], masks.names, "result", geometry)
    if isinstance(masks, str | Path):
        return read_mask_stack(masks)
    array: Any = need(masks, np.ndarray, what, "a result, an array (T, H, W) or a path")
    if array.ndim != 3 or array.dtype.kind not in "biuf":
        raise InputError(f"{what} must be (T, H, W) numbers, got {array.dtype} {array.shape}")
    return Stack(array[..., np.newaxis], tuple(map(str, range(len(array)))), "array")


def _join_spacing(one: Stack, other: Stack, given: Spacing | None) -> Spacing | None:
    geometries: tuple[Geometry | None, Geometry | None] = (one.geometry, other.geometry)
    if not is_same_place(*geometries):
        raise InputError("two volumes must lie in the same place, masks and truth do not; resample one of them")
    if given is not None:
        if not isinstance(given, tuple | list):
            need(given, tuple, "spacing_mm", "two or three lengths")
        return given
    return spacing_of(next((geometry for geometry in geometries if geometry is not None), None))
