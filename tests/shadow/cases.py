"""What the shadow runs: small sequences through the command line, from Python and as the page's processes do.

Each case takes seconds. Rates and epochs of the rounds are those of the first networks, so that a tree that knows only
one of either can run the same. Settings of cases mean nothing else than that they are quick.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shadow.scenes import Scene, make_scene, save_pictures, save_points, save_series, save_volume
from shadow.stages import Stages, read_files

if TYPE_CHECKING:
    from fewpoint.io.projects import ProjectLog
    from fewpoint.web.live_worker import Answerer

# The default method with every step of its own, in seconds.
SMALL = {
    "superpixels.count": 150,
    "network.base_width": 4,
    "network.levels": 3,
    "training.max_side": 48,
    "training.frames_per_epoch": 16,
    "warmup.epochs": 8,
    "warmup.rate": 5e-3,
    "rounds.round_epochs": 8,
    "rounds.round_rate": 5e-3,
}
SMALL_PAPER = {
    "superpixels.count": 150,
    "network.base_width": 4,
    "network.levels": 3,
    "network.multiple": 1,
    "training.max_side": 48,
    "training.batch": 4,
    "training.frames_per_epoch": 12,
    "training.statistics": "sequence",
    "training.weight_decay": 1e-4,
    "phases.warmup_epochs": 20,
    "phases.warmup_rate": 1e-2,
    "phases.estimation_epochs": 6,
    "phases.estimation_rate": 2e-3,
    "phases.final_epochs": 3,
    "phases.final_rate": 2e-3,
}
STOPPING = {"stopping.variance": 1, "stopping.window": 2, "stopping.minimum": 3}
FORMATS = ("png", "nifti", "nrrd", "mha", "tiff", "zarr", "coco")
DICOM = ("dicom-seg", "rtstruct")


@dataclass
class Bench:
    """Where a case finds its inputs and leaves its runs. changes: to the settings of all runs."""

    folder: Path
    stages: Stages
    changes: dict[str, object]

    @contextmanager
    def step(self, name: str) -> Iterator[Path]:
        """What is recorded within is that of this step; gives a folder for it."""
        self.stages.recorder.step = name
        yield self.folder / "runs" / name

    def segment(self, step: str, source: Path, points: Path, *options: object) -> Path:
        """`fewpoint segment`; returns the run folder."""
        from fewpoint.cli.main import run

        with self.step(step) as out:
            given = ("segment", source, "--points", points, "--out", out, "--device", "cpu", "--seed", "0", *options)
            status = run([str(each) for each in given])
        if status:
            raise RuntimeError(f"fewpoint segment ended with {status}")
        return out

    def fast(self, *options: object) -> tuple[object, ...]:
        return ("--preset", "fast", *self.settings(SMALL), *options)

    def settings(self, changes: dict[str, object]) -> list[str]:
        return [part for name, value in {**changes, **self.changes}.items() for part in ("--set", f"{name}={value}")]

    def save(self, scene: Scene, on: dict[str, list] | None = None, **others: dict) -> tuple[Path, Path]:
        """Pictures, and a file of points."""
        points = save_points(self.folder / "points.csv", on or {"": scene.clicks()}, **others)
        return save_pictures(scene.frames, self.folder / "frames"), points


def three_clicks(bench: Bench) -> None:
    """No bound: points are propagated, there is a second round, and the image says where the object ends."""
    scene = make_scene(20, (56, 64), 1)
    bench.segment("run", *bench.save(scene, {"": scene.clicks(every=7, first=3)}), *bench.fast())


def click_a_frame(bench: Bench) -> None:
    """In colour, and enough clicks that some are held out."""
    scene = make_scene(21, (48, 56), 2, channels=3)
    bench.segment("run", *bench.save(scene), *bench.fast("--max-fraction", "0.3"))


def box(bench: Bench) -> None:
    """A box where the object is largest, one on another frame, background clicks and an absent frame, on a volume."""
    scene = make_scene(10, (40, 72), 3)
    rows = [row for row in scene.clicks() if row[0] not in (2, 7)]
    points = save_points(bench.folder / "points.csv", {"": rows}, {"": scene.beside([0, 4, 5, 7])}, absent=(2,))
    source = save_volume(scene.frames, bench.folder / "volume.nii.gz")
    largest, other = enclose(scene.truth == 1, 0), enclose(scene.truth == 1, 6)
    bench.segment("run", source, points, *bench.fast("--largest-box", largest, "--box", other))


def drawn_frame(bench: Bench) -> None:
    """Two whole frames drawn, sizes of all frames and of one, from Python."""
    import fewpoint

    scene = make_scene(9, (56, 64), 4)
    words = fewpoint.Words.of({2: scene.truth[2] == 1, 6: scene.truth[6] == 1}, size=1.3, sizes={4: 0.7})
    with bench.step("run"):
        changes, seed = {**SMALL, **bench.changes}, 5
        clicks = scene.clicks(every=3)
        fewpoint.segment(
            scene.frames, clicks, words=words, settings="fast", changes=changes, seed=seed, device="cpu", progress=False
        )


def two_objects(bench: Bench) -> None:
    """Objects side by side that learn together, one of them clicked less often; background of one and of both.

    On one frame a superpixel has clicks on both, and is divided.
    """
    scene = make_scene(10, (56, 72), 6, objects=2)
    on = {"a": scene.clicks(1), "b": scene.clicks(2, every=4)}
    frame, y, x = on["a"][7]
    on["b"].append((frame, y, x + 1))
    beside = {"b": scene.beside([3, 8], 2), "": scene.beside([5], 1, 3, 8)}
    bench.segment("run", *bench.save(scene, on, beside=beside), *bench.fast())


def far_objects(bench: Bench) -> None:
    """Small objects in the corners of wide frames, which learn in groups, each in its own crop; from Python.

    A click outside of the crop of one then widens it.
    """
    import fewpoint

    parts, wide = make_scene(6, (64, 64), 7, objects=2), make_scene(6, (160, 176), 8).frames
    wide[:, :64, :32], wide[:, 90:154, 140:172] = parts.frames[:, :, :32], parts.frames[:, :, 32:]
    points = {"a": parts.clicks(1), "b": [(frame, y + 90, x + 108) for frame, y, x in parts.clicks(2)]}
    with bench.step("run") as out:
        changes = {**SMALL, **bench.changes}
        fewpoint.segment(wide, points, 0.04, settings="fast", changes=changes, device="cpu", out=out, progress=False)
    with bench.step("widened"):
        points["a"].append((3, 40, 76))
        fewpoint.refine(out, wide, points, device="cpu", progress=False)


def refinements(bench: Bench) -> None:
    """Corrections on one side of the border, then on both, then a drawn frame, of a run without a bound."""
    scene = make_scene(12, (56, 64), 9)
    on, out = {"": scene.clicks(every=4)}, {"": scene.beside([1, 5, 6, 9])}
    frames, points = bench.save(scene, on)
    first = bench.segment("first", frames, points, *bench.fast())
    save_points(points, on, out)
    second = bench.segment("one-sided", frames, points, "--refine", first)
    on[""] += scene.edges([2, 6, 10])
    out[""] += scene.beside([3, 10], near=3.0, far=8.0)
    save_points(points, on, out)
    third = bench.segment("two-sided", frames, points, "--refine", second)
    masks = save_pictures((scene.truth[7:8, ..., None] == 1).astype(np.uint8) * 255, bench.folder / "drawn")
    bench.segment("drawn", frames, points, "--refine", third, "--outlined", f"7={masks / '0000.png'}")


def refined_objects(bench: Bench) -> None:
    """Of two objects one is corrected, in memory; then a new one is added and the other made larger; from Python."""
    import fewpoint

    scene = make_scene(8, (56, 80), 10, objects=3)
    points = {"a": scene.clicks(1), "b": scene.clicks(2)}
    how = {"device": "cpu", "progress": False}
    with bench.step("first") as first:
        changes = {**SMALL, **bench.changes}
        fewpoint.segment(scene.frames, points, 0.2, settings="fast", changes=changes, out=first, **how)
    with bench.step("corrected") as second:
        points["a"] += scene.edges([1, 5], 1)
        fewpoint.refine(first, scene.frames, points, out=second, **how)
    with bench.step("added"):
        words = {"b": fewpoint.Words(size=1.4)}
        fewpoint.refine(second, scene.frames, {**points, "c": scene.clicks(3)}, words=words, **how)


def warm_start(bench: Bench) -> None:
    first, second = make_scene(6, (56, 64), 11), make_scene(7, (48, 64), 12)
    start = bench.segment("first", *bench.save(first), *bench.fast("--max-fraction", "0.3"))
    frames = save_pictures(second.frames, bench.folder / "others")
    points = save_points(bench.folder / "others.csv", {"": second.clicks()})
    bench.segment("run", frames, points, *bench.fast("--max-fraction", "0.3", "--warm-start", start))


def live(bench: Bench) -> None:
    """Answers as the page's process gives them: of a clip, before learning, after a run, and on the frame in view."""
    import fewpoint
    from fewpoint.core.actions import AddPoint, SetBox, SetSize
    from fewpoint.io.images import read_sequence
    from fewpoint.runs.live import Live
    from fewpoint.superpixels.intensity import window_of
    from fewpoint.web.clips import write_clip
    from fewpoint.web.live_worker import Answerer, glance

    scene = make_scene(14, (56, 72), 13, objects=2)
    page = Page.create(bench, scene, {"a": scene.clicks(1, every=6), "b": scene.clicks(2, every=6)[:1]})
    window = window_of(read_sequence(page.frames))
    write_clip(scene.frames[2:11], window, (2, 14), bench.folder / "clip.npz")
    with bench.step("clip") as folder:
        told = glance(page.order_live(clip=str(bench.folder / "clip.npz")), folder)
        if told is None:
            raise RuntimeError("no answer about the clip")
        page.note_shown(folder, "masks.npy")
    with bench.step("before-learning") as folder:
        live = Live(read_sequence(page.frames))
        page.answer(Answerer(live, folder), folder, view=5)
    result = str(page.segment("run", 1))
    with bench.step("after-a-run") as folder:
        answerer = Answerer(live, folder)
        page.answer(answerer, folder, run=result)
    on, out = scene.edges([4], 1)[0], scene.beside([9], 1)[0]
    page.do(AddPoint("a", *on), AddPoint("a", *out, positive=False), SetSize("b", 1.5))
    y0, x0, y1, x1 = map(int, enclose(scene.truth == 2, 3).split(",")[1:])
    page.do(SetBox("b", 3, y0, x0, y1, x1))
    with bench.step("corrected"):
        page.answer(answerer, folder, run=result, view=3)
    with bench.step("reduced"):  # frames so wide that they are worked on at a smaller size
        wide = make_scene(5, (72, 180), 20)
        points, words = fewpoint.PointSet.from_rows(wide.clicks()[:2]), fewpoint.Words.of({3: wide.truth[3] == 1})
        for name, masks in Live(fewpoint.ImageSequence.from_array(wide.frames)).answer(points, {"": words}).items():
            bench.stages.note("masks", name, masks)


def page(bench: Bench) -> None:
    """Runs as the page's worker makes them, and exports of what a person has renamed, drawn and removed since."""
    from fewpoint.core.actions import AddPoint, Brush, RemoveObject, RenameObject
    from fewpoint.io.projects import RunRecord
    from fewpoint.web.exporting import ExportOrder, write_export

    scene = make_scene(7, (48, 64), 14, objects=2)
    page = Page.create(bench, scene, {"a": scene.clicks(1), "b": scene.clicks(2)}, fraction=0.3)
    page.segment("run", 1)
    page.do(AddPoint("a", *scene.beside([4], 1)[0], positive=False), AddPoint("b", *scene.edges([2], 2)[0]))
    page.segment("refined", 2, refined=1)
    ids = tuple(page.objects.values())
    for number in (1, 2):
        page.log.record_run(RunRecord(number, page.log.history.version, ids, "finished", best=True))

    def export(step: str, number: int, *names: str) -> None:
        with bench.step(step):
            for name in names:
                out, version = bench.folder / "exports" / f"{step}-{name}", page.log.history.version
                has_grid = name in ("nifti", "zarr")
                files = write_export(ExportOrder(str(page.log.path), version, number, name, has_grid, str(out)))
                bench.stages.note("files", f"{name}.names", json.dumps(files).encode())
                for place, data in read_files(out).items():
                    bench.stages.note("files", f"{name}.{place}", data)

    export("export-run", 1, "png", "coco", "mp4")
    page.do(RenameObject("a", "spleen"), Brush("spleen", 2, ((9, 7), (90, 30))))
    export("export-refined", 2, *FORMATS)
    page.do(RemoveObject("b"))
    export("export-one", 2, "png", "nifti")
    page.log.close()


def paper(bench: Bench) -> None:
    """The paper's own method with tracking, two objects, each with its own stop of the estimation."""
    scene = make_scene(8, (56, 72), 15, objects=2)
    frames = bench.save(scene, {"a": scene.clicks(1), "b": scene.clicks(2)})
    settings = bench.settings({**SMALL_PAPER, **STOPPING})
    bench.segment("run", *frames, "--preset", "paper", "--max-fraction", "0.1", *settings)


def alterestpu(bench: Bench) -> None:
    """A competitor that trains the method's network in another way."""
    scene = make_scene(7, (56, 64), 16)
    settings = bench.settings(SMALL_PAPER)
    bench.segment("run", *bench.save(scene), "--method", "alterestpu", "--max-fraction", "0.15", *settings)


def formats(bench: Bench) -> None:
    """Every file format: of a grey volume, of colour pictures, and of two objects on a DICOM series."""
    grey, colour = make_scene(6, (40, 48), 17), make_scene(5, (40, 56), 18, channels=3)
    volume = save_volume(grey.frames, bench.folder / "volume.nii.gz")
    pictures = save_pictures(colour.frames, bench.folder / "pictures")
    both = make_scene(5, (40, 64), 19, objects=2)
    series = save_series(both.frames, bench.folder / "series")
    several = {"left lung": both.clicks(1), "b": both.clicks(2)}
    for step, source, on, names in (
        ("volume", volume, {"": grey.clicks()}, FORMATS),
        ("pictures", pictures, {"": colour.clicks()}, (*FORMATS, "mp4")),
        ("series", series, several, (*FORMATS, *DICOM)),
    ):
        points = save_points(bench.folder / f"{step}.csv", on)
        options = [part for name in names for part in ("--format", name)]
        chosen = ("--method", "random-walker", "--max-fraction", "0.2", "--probabilities", *options)
        out = bench.segment(step, source, points, *chosen)
        for place, data in read_files(out).items():
            bench.stages.note("files", place, data)


@dataclass
class Page:
    """A project as the page has it, and the orders that its server makes of it."""

    bench: Bench
    frames: Path
    log: "ProjectLog"

    @classmethod
    def create(cls, bench: Bench, scene: Scene, on: dict[str, list], fraction: float | None = None) -> "Page":
        from fewpoint.core.actions import AddObject, AddPoint, RenameObject, SetFraction, SetSettings
        from fewpoint.io.projects import ProjectLog

        frames = save_pictures(scene.frames, bench.folder / "frames")
        page = cls(bench, frames, ProjectLog.create(bench.folder / "page.fewpoint", frames, scene.truth.shape))
        first, *others = on
        page.do(SetSettings("fast"), RenameObject("object", first), *map(AddObject, others))
        page.do(*(AddPoint(name, *row) for name, rows in on.items() for row in rows))
        page.do(*([] if fraction is None else [SetFraction(fraction)]))
        return page

    def do(self, *actions: object) -> None:
        for action in actions:
            self.log.do(action)

    @property
    def objects(self) -> dict[str, int]:
        return {each.name: each.id for each in self.log.project.clicked}

    def segment(self, step: str, number: int, refined: int | None = None) -> Path:
        """A run or refinement in the worker; returns the run folder."""
        from fewpoint.core.job import Job, OutputChoice
        from fewpoint.io.jobs import honour_project
        from fewpoint.io.projects import runs_folder
        from fewpoint.web.orders import Order, result_folder
        from fewpoint.web.worker import Teller, work

        runs = runs_folder(self.log.path)
        before = None if refined is None else str(result_folder(runs / str(refined)))
        changes = () if refined else tuple({**SMALL, **self.bench.changes}.items())
        job = Job(changes=changes, device="cpu", outputs=OutputChoice(report=False), refine=before)
        job = honour_project(job, self.log.project, str(self.frames))
        order = Order(job, str(runs / str(number)), self.objects)
        said = StringIO()
        with self.bench.step(step):
            work(Order.from_table(json.loads(json.dumps(order.as_table()))), Teller(said), threading.Event())
            ended = json.loads(said.getvalue().splitlines()[-1])
            if ended.get("state") != "finished":
                raise RuntimeError(f"the worker ended with {ended}")
            self.note_shown(runs / str(number), "masks.npy", "probabilities.npy")
        return result_folder(runs / str(number))

    def order_live(self, **others: object) -> str:
        from fewpoint.core.job import PlainPoints
        from fewpoint.web.orders import LiveOrder

        project = self.log.project
        points, words = PlainPoints.of(project.to_points()), dict(project.to_words())
        order = LiveOrder(1, self.log.history.version, others.pop("run", None), points, words, self.objects, **others)
        return json.dumps(order.as_table())

    def answer(self, answerer: "Answerer", folder: Path, **others: object) -> None:
        """Masks at once: of the frame in view, if there is one, then of all."""
        for news in answerer.answer(self.order_live(**others)):
            if news.kind != "answered" or news.note:
                raise RuntimeError(f"no masks at once: {news}")
            self.note_shown(folder, "masks.npy" if news.view is None else f"view-{news.view}.npy")

    def note_shown(self, folder: Path, *files: str) -> None:
        """What the page reads of each object that there is anything of."""
        from fewpoint.web.orders import shown_folder

        for name, number in self.objects.items():
            for path in (shown_folder(folder, number) / file for file in files):
                if path.exists():
                    self.bench.stages.note("masks", name, np.load(path), f"shown-{path.stem}")


def enclose(masks: np.ndarray, frame: int) -> str:
    """A box round what is marked on a frame, with a pixel to spare, as options take it."""
    rows, columns = np.nonzero(masks[frame])
    return f"{frame},{rows.min() - 1},{columns.min() - 1},{rows.max() + 2},{columns.max() + 2}"


# The longest first, so that two processes that take turns end at about the same time.
CASES: dict[str, Callable[[Bench], None]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        refined_objects,
        refinements,
        three_clicks,
        live,
        two_objects,
        page,
        far_objects,
        click_a_frame,
        drawn_frame,
        box,
        warm_start,
        paper,
        alterestpu,
        formats,
    )
}
