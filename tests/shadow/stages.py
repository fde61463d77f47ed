"""Where the stages of a run can be seen in this tree: functions are wrapped from outside, which then tell a recorder.

It goes with the tree's own inner functions, and is rewritten with them; names and contents of the stages stay.
All arrays are of one object: inside the crop from `superpixels` to `labels`, of whole frames before and after.
"""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shadow.recorder import Recorder

# Arrays, by object if not said otherwise:
ORDER = (
    "input",  # frames as read, and points
    "bounds",  # largest share of a frame, and how far it is doubted
    "crop",  # top, bottom, left, right
    "superpixels",
    "raised-bounds",  # the same, once superpixels are cut
    "propagated",  # points, with those that motion carries them to
    "seeds",  # frame and number of superpixels that are the object; and of those that are not
    "logits-0",  # of each network that learns from the points
    "targets-1",  # probability and weight of each pixel in the next round, or in a refinement
    "logits-1",
    "targets-2",
    "logits-2",
    "logits",  # of a competitor's network
    "probabilities",  # at the input's resolution, or before learning of superpixels
    "scores",  # of superpixels, 0 or above in the mask
    "labels",  # where the pixel was given to the object
    "history",  # of training, and the share of each frame
    "masks",
    "calibrated",  # probabilities as they are handed out
    "files",
)
# What a DICOM file says of when it was written, and identifiers that are drawn at random.
VARYING = (
    *("InstanceCreationDate", "InstanceCreationTime", "ContentDate", "ContentTime", "SeriesDate", "SeriesTime"),
    *("ContributionDateTime", "DimensionOrganizationUID"),
)


class Stages:
    """Tells a recorder what a tree's functions return. recorder: that of the present case."""

    recorder: Recorder

    def __init__(self) -> None:
        self._round = 0
        self._names: tuple[str, ...] = ()
        self._settled: list[str] = []

    def note(self, stage: str, name: str, value: Any, part: str = "") -> None:
        """Take down what a stage has of an object, or of a part of that."""
        self.recorder.note(stage, f"{name or 'object'}.{part}".rstrip("."), value)

    def watch(self) -> None:
        """Wrap all functions, once a process."""
        import fewpoint.methods.competitors.network_learning as competitor
        import fewpoint.pipeline.group as group
        import fewpoint.pipeline.masks as masks
        import fewpoint.runs.live as live
        import fewpoint.runs.runner as runner
        from fewpoint.pipeline import stages
        from fewpoint.pipeline.members import Rounds

        runner.write_report = lambda *given: None  # drawing it takes longer than all the rest
        hear_before(runner, "_run", self._hear_task)
        hear_before(runner, "run_group", self._begin_group)
        hear(runner, "_run", lambda done, *given: self._hear_result(done.result))
        hear(group, "_first_bounds", lambda found, tasks: self._hear_bounds("bounds", tasks, found))
        hear(group, "_settle_bounds", lambda found, tasks, *given: self._hear_bounds("raised-bounds", tasks, found))
        hear(group, "_choose_focus", lambda focus, *given: self._hear_crop(focus.box))
        hear(group, "_superpixels", lambda found, tasks, *given: self._hear_superpixels(tasks, found[0]))
        hear(group, "_carry_points", lambda found, tasks, *given: self._hear_points("propagated", tasks, found[0]))
        hear(stages, "prepare_samples", lambda found, tasks, *given: self._hear_samples(tasks, found))
        hear(Rounds, "_store", lambda found, rounds, member, trained: self._hear_trained(rounds, member, trained))
        hear(Rounds, "_make_targets", lambda found, rounds, *given: self._hear_targets(rounds, found))
        hear(Rounds, "_recall_targets", lambda found, rounds, *given: self._hear_targets(rounds, found))
        hear(group, "_predict", self._hear_predicted)
        for module, name in ((group, "choose_labels"), (live, "await_labels")):
            hear_before(module, name, self._begin_settling)
        hear(masks, "settle", lambda found, *given: self._hear_settled(found))
        hear(group, "_choose_labels", lambda found, rounds, *given: self._hear_labels(rounds, found[0][0]))
        hear(competitor, "segment_frames", lambda found, *given: self.note("superpixels", "", found.labels))
        hear(competitor, "predict_logits", lambda found, *given: self.note("logits", "", as_array(found)[:, 0]))
        self._watch_live(live)

    def _watch_live(self, live: Any) -> None:
        """What masks are made of before anything is learnt."""
        hear(live, "estimate_bound", lambda bound, *given: self.note("bounds", "", as_bound(bound)))
        hear(live, "guess", lambda found, *given: self.note("probabilities", "", found))
        hear(live, "_smooth", lambda smoother, *given: self._hear_smoother(smoother))
        hear(live, "RoughLooks.of", lambda found, *given: self.note("superpixels", "", found.superpixels.labels))

    def _hear_task(self, task: Any, *given: Any) -> None:
        self.note("input", "frames", task.sequence.frames)
        for name in task.object_names:
            own = task.of_object(name)
            self.note("input", name, own.points.coordinates, "points")
            self.note("input", name, own.points.negatives, "background")
            self.note("input", name, np.array(own.points.absent, np.int64), "absent")

    def _begin_group(self, names: tuple[str, ...], *given: Any) -> None:
        self._names, self._round = names, 0

    def _hear_crop(self, box: tuple[int, int, int, int]) -> None:
        for name in self._names:
            self.note("crop", name, np.array(box))

    def _hear_bounds(self, stage: str, tasks: Any, bounds: Any) -> None:
        for name, bound in zip(tasks, bounds, strict=True):
            self.note(stage, name, as_bound(bound))

    def _hear_superpixels(self, tasks: Any, superpixels: Any) -> None:
        for name in tasks:
            self.note("superpixels", name, superpixels.labels)

    def _hear_points(self, stage: str, tasks: Any, points: Any) -> None:
        for name, own in zip(tasks, points, strict=True):
            self.note(stage, name, own.coordinates)
            self.note(stage, name, own.negatives, "background")

    def _hear_samples(self, tasks: Any, samples: Any) -> None:
        for name, own in zip(tasks, samples, strict=True):
            self.note("seeds", name, np.argwhere(as_array(own.positive)))
            background = np.empty((0, 2), np.int64) if own.negative is None else np.argwhere(as_array(own.negative))
            self.note("seeds", name, background, "background")

    def _hear_smoother(self, smoother: Any) -> None:
        self.note("seeds", "", smoother.seeds)
        self.note("seeds", "", smoother.refused, "background")

    def _hear_trained(self, rounds: Any, member: Any, trained: Any) -> None:
        for name, learnt in zip(rounds.inputs, trained.objects, strict=True):
            self.note(f"logits-{member.round}", name, learnt.logits, f"{member.number}")
            if learnt.first is not None:
                self.note(f"logits-{member.round}", name, learnt.first, f"{member.number}.before-corrections")

    def _hear_targets(self, rounds: Any, targets: Any) -> None:
        self._round += 1
        for name, own in zip(rounds.inputs, targets, strict=True):
            self.note(f"targets-{self._round}", name, as_array(own.probability))
            self.note(f"targets-{self._round}", name, as_array(own.weight), "weight")

    def _hear_predicted(self, found: Any, trained: Any, inputs: Any, *given: Any) -> None:
        for name, maps in zip(inputs, found[0], strict=True):
            self.note("probabilities", name, maps.values)

    def _begin_settling(self, tasks: Any, *given: Any) -> None:
        self._settled = list(tasks)

    def _hear_settled(self, settled: Any) -> None:
        name = self._settled.pop(0)
        self.note("scores", name, settled.scores)
        self.note("scores", name, np.array([settled.cut.level]), "level")

    def _hear_labels(self, rounds: Any, labels: Any) -> None:
        for number, name in enumerate(rounds.inputs, start=1):
            self.note("labels", name, labels.values == number)

    def _hear_result(self, result: Any) -> None:
        for each in result.objects:
            name, priors, history = each.name, each.priors, each.history
            self.note("history", name, np.stack([priors.mean, priors.deviation, priors.observed]), "shares")
            self.note("history", name, np.array([record.loss for record in history.records]), "losses")
            self.note("history", name, history.priors, "priors")
            self.note("masks", name, each.masks)
            self.note("calibrated", name, each.probabilities.values)


def as_bound(bound: Any) -> np.ndarray:
    return np.array([bound.fraction, bound.doubt])


def as_array(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def hear(place: Any, name: str, listen: Callable[..., object]) -> None:
    """Have listen(result, *given) called after each call of a function; name: `CLASS.METHOD` for a class method."""
    place, name = (getattr(place, name.partition(".")[0]), name.partition(".")[2]) if "." in name else (place, name)
    original = getattr(place, name)

    def heard(*given: Any, **named: Any) -> Any:
        result = original(*given, **named)
        listen(result, *given)
        return result

    setattr(place, name, heard)


def hear_before(place: Any, name: str, listen: Callable[..., object]) -> None:
    """Have listen(*given) called before each call of a function."""
    original = getattr(place, name)

    def heard(*given: Any, **named: Any) -> Any:
        listen(*given)
        return original(*given, **named)

    setattr(place, name, heard)


def read_files(folder: Path) -> dict[str, bytes]:
    """The files of a result by their place in its folder, without what no two files written have alike."""
    kept = ("masks", "probabilities", "outlines", "overlay")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".npz", ".zip"))
    found = {path.relative_to(folder).as_posix(): path for path in files}
    return {place.replace("/", "+"): read_stable(path) for place, path in found.items() if place.startswith(kept)}


def read_stable(path: Path) -> bytes:
    """The bytes of a file; that of DICOM written again without dates, and OME-TIFF without its random identifier."""
    data = path.read_bytes()
    if path.suffix == ".tif":
        return re.sub(rb"urn:uuid:[0-9a-f-]{36}", b"urn:uuid:" + 36 * b"0", data)
    if path.suffix != ".dcm":
        return data
    import pydicom

    dataset = pydicom.dcmread(io.BytesIO(data))
    for each in (dataset, *(item for element in dataset.iterall() if element.VR == "SQ" for item in element.value)):
        for name in VARYING:
            each.pop(name, None)
    stream = io.BytesIO()
    dataset.save_as(stream)
    return stream.getvalue()
