"""A pretrained model beside our networks on the twenty development sequences: `python benchmarks/witness.py --help`.

python benchmarks/witness.py ask OUT --jobs 12     ours alone, and the model's answers to a family of prompts, made
                                                   of what our networks say about each frame
python benchmarks/witness.py alone OUT --jobs 12   the model alone: from clicks under the bound, and from the true box
python benchmarks/witness.py both OUT --jobs 12    ours with the model as a witness, from frames to masks
python benchmarks/witness.py features OUT          ours, with features of a model as further channels
python benchmarks/witness.py table OUT             F1 of all of it, how often the model was asked and believed

Each start is a kind of clicks and of bound: "click" a click on every frame with the paper's bound, "none" the same
without a bound, "every5" on every fifth frame with the paper's bound. What is finished is not run again. Answers are
kept as bits, so that how far a witness is believed can be studied without a GPU: benchmarks/trust.py.
"""

import argparse
import csv
import json
import lzma
import os
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from fewpoint.bench.oracles import TrueBox
from fewpoint.bench.protocols import give_bound
from fewpoint.bench.suite import read_suite
from fewpoint.core import ImageSequence, Listener, ProbabilityMaps
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import TRUTH_FOLDER, read_masks
from fewpoint.io.memory import measure_peak
from fewpoint.io.points import read_points
from fewpoint.methods.competitors.sam2_points import ask_with
from fewpoint.methods.competitors.sam_points import SamPoints, take_largest_allowed
from fewpoint.witness.asking import box_round, choose, find_middle, find_parts, find_parts_at, overlap
from fewpoint.witness.encoding import EMPTY, Pictures
from fewpoint.witness.heard import Heard
from fewpoint.witness.models import Answer, Encoded, Prompt, Promptable, PromptBox
from fewpoint.witness.trust import Belief

SUITE = Path(__file__).parent / "suites" / "dev20-witness.toml"
STARTS = {"click": ("2dlocs", "eta"), "none": ("2dlocs", "none"), "every5": ("points_every5", "eta")}
MODEL, FEATURES = "sam2-tiny", "dinov2-small"
COMPONENTS = 5  # of features
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MOVES = {
    "smaller-5": (0.05, -0.05, 0.05, -0.05),
    "down": (0.05, 0.05, 0.05, 0.05),
    "up": (-0.05, -0.05, 0.05, 0.05),
    "larger-10": (-0.1, 0.1, -0.1, 0.1),
    "larger-20": (-0.2, 0.2, -0.2, 0.2),
    "smaller-10": (0.1, -0.1, 0.1, -0.1),
}
LOGIT_STEP, LARGEST_LOGIT = 0.25, 6.0
WHOLE = ("/Reshape_8_output_0", "/iou_prediction_head/Sigmoid_output_0")  # of SAM 2's decoder: with the single mask


@dataclass(eq=False)
class Whole:
    """A decoder that gives four masks: first the one for a prompt that leaves nothing open, then the usual three."""

    decoder: Any

    def get_inputs(self) -> Any:
        return self.decoder.get_inputs()

    def run(self, names: None, given: dict[str, np.ndarray]) -> list[np.ndarray]:
        return self.decoder.run(list(WHOLE), given)


def load_model(out: Path, whole: bool) -> Promptable:
    """The model on the GPU, if there is one; whole: with the mask of a decoder that is left out else, if it can."""
    import torch

    from fewpoint.witness.models import load_promptable
    from fewpoint.witness.sam2 import Sam2
    from fewpoint.witness.sessions import open_session
    from fewpoint.witness.store import open_model
    from fewpoint.witness.torch_graph import TorchGraph

    model = load_promptable(MODEL, threads=1, on_gpu=torch.cuda.is_available())
    if not isinstance(model, Sam2) or not isinstance(model.decoder, TorchGraph):
        return model
    try:
        tried = Sam2(model.identity, model.encoder, Whole(model.decoder) if whole else model.decoder)
        tried.ask(tried.encode(np.zeros((64, 64, 3), np.float32)), (64, 64), [Prompt(clicks=np.array([[5, 5]]))])
    except Exception:  # a GPU is lent for minutes: what the decoder cannot do there is done by the processor
        (out / "decoder-problem.txt").write_text(traceback.format_exc())
        return Sam2(model.identity, model.encoder, open_session(open_model(MODEL)[1][1], 1))
    return tried


@dataclass(eq=False)
class KeptFrames:
    """Frames as the model sees them, each encoded when it is first asked about, and kept in memory."""

    sequence: ImageSequence
    model: Promptable
    asked: int = 0
    encoding_s: float = 0.0
    asking_s: float = 0.0
    kept: dict[int | None, Encoded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.size, self.pictures = self.sequence.size, Pictures.of(self.sequence)

    def encode(self, frame: int | None) -> Encoded:
        if frame not in self.kept:
            started = time.perf_counter()
            picture = np.full((*self.size, 3), EMPTY, np.float32) if frame is None else self.pictures[frame]
            self.kept[frame] = self.model.encode(picture)
            self.encoding_s += time.perf_counter() - started
        return self.kept[frame]

    def ask(self, frame: int | None, prompts: list[Prompt]) -> list[Answer]:
        encoded, started = self.encode(frame), time.perf_counter()
        answers = self.model.ask(encoded, self.size, prompts)
        self.asked += len(prompts)
        self.asking_s += time.perf_counter() - started
        return answers

    def close(self) -> None:
        self.kept.clear()

    def count(self) -> dict[str, float]:
        return {"prompts": self.asked, "encoding_s": self.encoding_s, "asking_s": self.asking_s}


def ask_family(frames: KeptFrames, frame: int, chances: np.ndarray, clicks: np.ndarray) -> dict[str, Any]:
    """The model's answers to a family of prompts about a frame: masks (H, W) bool by name, and their scores."""
    parts = {level: find_parts_at(chances, level) for level in LEVELS}
    middle = parts[0.5]
    if not middle:
        return {}
    masks: dict[str, np.ndarray] = {}
    scores: dict[str, float] = {}

    def put(name: str, some: list[np.ndarray], worth: list[float]) -> None:
        masks[name] = np.logical_or.reduce(some)
        scores[name] = round(float(np.mean(worth)), 4)

    boxes = {f"level-{level}": [Prompt(box_round(part)) for part in parts[level]] for level in LEVELS}
    asked = {f"level-{level}": parts[level] for level in LEVELS}
    for name, moves in MOVES.items():
        boxes[name] = [Prompt(shake(box_round(part), moves, chances.shape)) for part in middle]
        asked[name] = middle
    taken = answer_all(frames, frame, boxes)
    first: dict[str, list[np.ndarray]] = {}
    for name, answers in taken.items():
        chosen = [choose(_open(answer), part) for answer, part in zip(answers, asked[name], strict=True)]
        first[name] = [mask for mask, _ in chosen]
        put(f"{name} chosen", first[name], [score for _, score in chosen])
        if len(answers[0].masks) == 4:
            alone = [each.masks[0] >= 0 for each in answers]
            put(f"{name} single", alone, [float(each.scores[0]) for each in answers])
    for turn in ("again", "once more"):
        boxes = {
            name: [Prompt(box_round(mask)) for mask in some]
            for name, some in first.items()
            if name.startswith("level") and all(mask.any() for mask in some)
        }
        for name, answers in answer_all(frames, frame, boxes).items():
            chosen = [choose(_open(answer), mask) for answer, mask in zip(answers, first[name], strict=True)]
            first[name] = [mask for mask, _ in chosen]
            put(f"{name} {turn}", first[name], [score for _, score in chosen])
    places = clicks if len(clicks) else np.stack([find_middle(part) for part in middle])
    logits = np.clip(np.log(chances + 1e-3) - np.log(1 - chances + 1e-3), -6, 6)
    others = {
        "rough": [
            Prompt(box_round(part), rough=np.where(part | ~np.logical_or.reduce(middle), logits, -8)) for part in middle
        ],
        "clicked": [Prompt(box_round(part), clicks=find_middle(part)[np.newaxis]) for part in middle],
        "places": [Prompt(clicks=places)],
    }
    taken = answer_all(frames, frame, others)
    for name in ("rough", "clicked"):
        chosen = [choose(_open(answer), part) for answer, part in zip(taken[name], middle, strict=True)]
        put(name, [mask for mask, _ in chosen], [score for _, score in chosen])
    alone = _open(taken["places"][0])
    for number, place in enumerate(np.argsort([(mask >= 0).sum() for mask in alone.masks]).tolist()):
        put(f"places {number}", [alone.masks[place] >= 0], [float(alone.scores[place])])
    return {"masks": masks, "scores": scores, "parts": len(middle)}


def answer_all(frames: KeptFrames, frame: int | None, prompts: dict[str, list[Prompt]]) -> dict[str, list[Answer]]:
    """Answers by name, all asked at once."""
    answers = iter(frames.ask(frame, [each for some in prompts.values() for each in some]))
    return {name: [next(answers) for _ in some] for name, some in prompts.items() if some}


def _open(answer: Answer) -> Answer:
    """The usual three masks of an answer."""
    return Answer(answer.masks[-3:], answer.scores[-3:])


def shake(box: PromptBox, moves: tuple[float, float, float, float], size: tuple[int, ...]) -> PromptBox:
    """The box with its top, bottom, left and right moved by shares of its height and width, within a frame."""
    height, width = box.bottom - box.top, box.right - box.left
    top, bottom = (side + move * height for side, move in zip((box.top, box.bottom), moves[:2], strict=True))
    left, right = (side + move * width for side, move in zip((box.left, box.right), moves[2:], strict=True))
    return PromptBox(max(top, 0.0), min(bottom, size[0]), max(left, 0.0), min(right, size[1]))


@dataclass(eq=False)
class Recorder:
    """Stands where a witness would: asks about the last probabilities, keeps the answers, and has no say."""

    frames: KeptFrames
    told: dict[str, Any] = field(default_factory=dict)

    def teach(self, task: Any, targets: Any, samples: Any) -> Any:
        return targets

    def testify(self, task: Any, maps: ProbabilityMaps, name: str = "") -> Heard:
        values = maps.values
        found = []
        for frame, seen in enumerate(values):
            rows = task.points.coordinates[task.points.frames == frame, 1:]
            found.append(
                {}
                if frame in task.points.absent
                else ask_family(self.frames, frame, np.asarray(seen, np.float32), rows)
            )
        self.told = {"values": np.asarray(values), "found": found, "blind": self.ask_blind(values)}
        nothing = Belief(np.zeros(len(values)), float("nan"), "it is only recorded")
        return Heard(np.zeros(values.shape, bool), nothing)

    def ask_blind(self, values: np.ndarray) -> list[tuple[int, float]]:
        """Overlap of answers about an empty picture with those about eight frames, asked with the same boxes."""
        overlaps = []
        for frame in np.unique(np.linspace(0, len(values) - 1, 8).astype(int)).tolist():
            parts = find_parts(values[frame] >= 0.5)
            prompts = {"level": [Prompt(box_round(part)) for part in parts]}
            if parts:
                here, empty = (answer_all(self.frames, where, prompts)["level"] for where in (frame, None))
                masks = [
                    np.logical_or.reduce(
                        [choose(_open(one), part)[0] >= 0 for one, part in zip(some, parts, strict=True)]
                    )
                    for some in (here, empty)
                ]
                overlaps.append((frame, overlap(*masks)))
        return overlaps


@dataclass(frozen=True)
class Cell:
    """What one process does: a step of the study on one sequence from one start."""

    step: str
    type: str
    name: str
    folder: str
    start: str
    preset: str
    device: str
    out: str

    @property
    def result(self) -> Path:
        return Path(self.out) / self.step / f"{self.start}-{self.name}.json"


def run_cell(cell: Cell) -> str:
    started = time.perf_counter()
    cell.result.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(cell.folder)
    sequence, truth = read_sequence(folder), read_masks(folder / TRUTH_FOLDER)
    points, bound = STARTS[cell.start]
    given = sequence, read_points(folder / f"{points}.csv", sequence), give_bound(bound, truth)
    made = STEPS[cell.step](cell, given, truth)
    values = {"type": cell.type, "name": cell.name, "start": cell.start, "frames": len(sequence), **made}
    values["seconds"] = time.perf_counter() - started
    cell.result.with_suffix(".part").write_text(json.dumps(values))
    os.replace(cell.result.with_suffix(".part"), cell.result)
    return f"{cell.step} {cell.start} {cell.name}: " + ", ".join(
        f"{key} {value:.3f}" for key, value in made.items() if key.startswith("f1")
    )


def record(cell: Cell, given: tuple, truth: np.ndarray) -> dict[str, Any]:
    """Ours alone, and the model's answers to all prompts."""
    recorders: list[Recorder] = []

    @contextmanager
    def call(name: str, sequence: ImageSequence, listener: Listener, device: Any) -> Iterator[Recorder]:
        recorders.append(Recorder(KeptFrames(sequence, load_once(Path(cell.out), True))))
        yield recorders[-1]
        recorders[-1].frames.close()

    result, box = segment(cell, given, call)
    told = recorders[0].told
    save_answers(cell.result.with_suffix(".answers.xz"), told["found"], told["values"].shape[1:])
    save_packed(cell.result.with_suffix(".probabilities.xz"), quantise(told["values"]))
    save_packed(cell.result.with_suffix(".masks.xz"), np.packbits(result.masks))
    scored = {"f1": score_masks(result.masks, truth).pooled.f1}
    others = [{key: value for key, value in each.items() if key != "masks"} for each in told["found"]]
    return {
        **scored,
        "box": box,
        "shape": list(result.masks.shape),
        "bound": result.bound.fraction,
        "blind": told["blind"],
        "told": others,
        "count": recorders[0].frames.count(),
        "memory": peak(),
    }


def run_both(cell: Cell, given: tuple, truth: np.ndarray) -> dict[str, Any]:
    """Ours with the model as a witness, as `--witness` would have it."""
    from fewpoint.bench.methods import build_method
    from fewpoint.pipeline import witnessing

    model = Counting(load_once(Path(cell.out), False))
    beliefs: list[Belief] = []
    said: list[str] = []

    class Remembered(witnessing.Witness):
        def testify(self, task: Any, maps: ProbabilityMaps, name: str = "") -> Heard:
            heard = super().testify(task, maps, name)
            beliefs.append(heard.belief)
            return heard

    method = build_method(cell.preset, (), cell.device, lambda event: said.append(getattr(event, "text", "")), MODEL)
    started = time.perf_counter()
    with (
        mock.patch.object(witnessing, "load_promptable", lambda name, **options: model),
        mock.patch.object(witnessing, "Witness", Remembered),
    ):
        result = method.segment(*given, seed=0)
    seconds = time.perf_counter() - started
    save_packed(cell.result.with_suffix(".masks.xz"), np.packbits(result.masks))
    belief = beliefs[0] if beliefs else None
    return {
        "f1": score_masks(result.masks, truth).pooled.f1,
        "run_s": seconds,
        "shape": list(result.masks.shape),
        "weights": [] if belief is None else belief.weights.tolist(),
        "share": 0.0 if belief is None else belief.share,
        "said": [text for text in said if text.startswith("witness")],
        "count": model.count(),
        "memory": peak(),
    }


@dataclass(eq=False)
class Counting:
    """A model of which is counted how often it is asked, and for how long."""

    model: Promptable
    asked: int = 0
    encoded: int = 0
    encoding_s: float = 0.0
    asking_s: float = 0.0

    @property
    def identity(self) -> str:
        return self.model.identity

    def encode(self, picture: np.ndarray) -> Encoded:
        started = time.perf_counter()
        found = self.model.encode(picture)
        self.encoding_s, self.encoded = self.encoding_s + time.perf_counter() - started, self.encoded + 1
        return found

    def ask(self, encoded: Encoded, size: tuple[int, int], prompts: list[Prompt]) -> list[Answer]:
        started = time.perf_counter()
        answers = self.model.ask(encoded, size, prompts)
        self.asking_s, self.asked = self.asking_s + time.perf_counter() - started, self.asked + len(prompts)
        return answers

    def count(self) -> dict[str, float]:
        return {
            "prompts": self.asked,
            "encoded": self.encoded,
            "encoding_s": self.encoding_s,
            "asking_s": self.asking_s,
        }


def run_model(cell: Cell, given: tuple, truth: np.ndarray) -> dict[str, Any]:
    """The model alone, on whole frames: from clicks under the bound, and from the true box."""
    model = Remembering(load_once(Path(cell.out), False))
    methods = {
        "f1_points": SamPoints("sam2-points-bound", take_largest_allowed, ask_with(model)),
        "f1_box": TrueBox(truth, model),
    }
    return {
        name: score_masks(method.segment(*given, seed=0).masks, truth).pooled.f1 for name, method in methods.items()
    }


def run_with_features(cell: Cell, given: tuple, truth: np.ndarray) -> dict[str, Any]:
    """Ours, whose networks see the first components of a feature model beside the image; all else sees the image."""
    import torch

    from fewpoint.bench.methods import build_method
    from fewpoint.learning import samples
    from fewpoint.pipeline import stages

    reduce_sequence, build_network = samples.reduce_sequence, stages.build_network

    def reduce_both(sequence: ImageSequence, size: Any) -> Any:
        frames = reduce_sequence(sequence, size)
        maps = torch.from_numpy(find_components(sequence).transpose(0, 3, 1, 2))
        maps = torch.nn.functional.interpolate(maps, size.reduced, mode="bilinear")
        wider = torch.zeros((len(frames), COMPONENTS, *frames.shape[2:]))
        wider[:, :, : size.reduced[0], : size.reduced[1]] = maps
        return torch.cat([frames, wider], 1)

    method = build_method(cell.preset, (), cell.device)
    with (
        mock.patch.object(samples, "reduce_sequence", reduce_both),
        mock.patch.object(stages, "build_network", lambda channels, *rest: build_network(channels + COMPONENTS, *rest)),
    ):
        result = method.segment(*given, seed=0)
    return {"f1": score_masks(result.masks, truth).pooled.f1, "memory": peak()}


def find_components(sequence: ImageSequence) -> np.ndarray:
    """(T, h, w, COMPONENTS) float32 in [0, 1]: the first principal components of the features of all frames."""
    from fewpoint.witness.encoding import EncodedStore, describe_frames
    from fewpoint.witness.models import load_features

    store = EncodedStore(Path("/nonexistent"), 0)
    grids = np.stack(describe_frames(sequence, load_features(FEATURES, threads=1), store))
    flat = grids.reshape(-1, grids.shape[-1]).astype(np.float64)
    flat -= flat.mean(0)
    _, axes = np.linalg.eigh(flat.T @ flat)
    values = flat @ axes[:, : -COMPONENTS - 1 : -1]
    low, high = np.percentile(values, (1, 99), axis=0)
    return np.clip((values - low) / (high - low), 0, 1).reshape(*grids.shape[:3], -1).astype(np.float32)


@dataclass(eq=False)
class Remembering:
    """A model that encodes a picture once."""

    model: Promptable
    kept: dict[bytes, Encoded] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        return self.model.identity

    def encode(self, picture: np.ndarray) -> Encoded:
        key = np.ascontiguousarray(picture).tobytes()[::97]
        if key not in self.kept:
            self.kept[key] = self.model.encode(picture)
        return self.kept[key]

    def ask(self, encoded: Encoded, size: tuple[int, int], prompts: list[Prompt]) -> list[Answer]:
        return self.model.ask(encoded, size, prompts)


LOADED: dict[bool, Promptable] = {}


def load_once(out: Path, whole: bool) -> Promptable:
    if whole not in LOADED:
        LOADED[whole] = load_model(out, whole)
    return LOADED[whole]


STEPS = {"ask": record, "both": run_both, "alone": run_model, "features": run_with_features}


def segment(cell: Cell, given: tuple, call: Any, listener: Any = lambda event: None) -> tuple[Any, list[int]]:
    """What a run gives if `call` calls the witness, and the box that it looked at."""
    from fewpoint.bench.methods import build_method
    from fewpoint.pipeline import group

    method = build_method(cell.preset, (), cell.device, listener, MODEL)
    choose_focus, boxes = group._choose_focus, []

    def note(*some: Any) -> Any:
        focus = choose_focus(*some)
        boxes.append(list(focus.box))
        return focus

    with mock.patch.object(group, "call_witness", call), mock.patch.object(group, "_choose_focus", note):
        return method.segment(*given, seed=0), boxes[0]


def quantise(values: np.ndarray) -> np.ndarray:
    """(T, H, W) int8 logits of probabilities, in units of LOGIT_STEP."""
    seen = np.clip(values.astype(np.float32), 1e-6, 1 - 1e-6)
    logits = np.clip(np.log(seen) - np.log1p(-seen), -LARGEST_LOGIT, LARGEST_LOGIT)
    return np.floor(logits / LOGIT_STEP).astype(np.int8)  # floor: at or above 0 stays there


def save_packed(path: Path, values: np.ndarray) -> None:
    path.write_bytes(lzma.compress(values.tobytes(), preset=6))


def save_answers(path: Path, found: list[dict[str, Any]], size: tuple[int, int]) -> None:
    """All masks as bits, each as what differs from the one before it; their names are in the file's first line."""
    names = [sorted(each["masks"]) if each else [] for each in found]
    pieces = []
    for own, each in zip(names, found, strict=True):
        before = np.zeros(size, bool)
        for name in own:
            pieces.append(np.packbits(each["masks"][name] ^ before).tobytes())
            before = each["masks"][name]
    head = json.dumps({"size": size, "names": names}).encode() + b"\n"
    path.write_bytes(lzma.compress(head + b"".join(pieces), preset=6))


def load_answers(path: Path) -> list[dict[str, np.ndarray]]:
    """What save_answers wrote: of each frame, (H, W) bool masks by name."""
    content = lzma.decompress(path.read_bytes())
    end = content.index(b"\n")
    head = json.loads(content[:end])
    size = tuple(head["size"])
    length = (size[0] * size[1] + 7) // 8
    place, frames = end + 1, []
    for names in head["names"]:
        before, masks = np.zeros(size, bool), {}
        for name in names:
            bits = np.unpackbits(np.frombuffer(content, np.uint8, length, place), count=size[0] * size[1])
            before = masks[name] = before ^ bits.reshape(size).astype(bool)
            place += length
        frames.append(masks)
    return frames


def peak() -> dict[str, float]:
    found = measure_peak()
    return {"process_mb": found.process_mb, "cuda_mb": found.cuda_mb or 0.0}


COLUMNS = ("ours", "both", "believed", "clicks", "true box", "features")
COSTS = ("run_s", "prompts", "encoded", "encoding_s", "asking_s", "process_mb", "cuda_mb")
Rows = dict[tuple[str, str, str], dict[str, float]]  # start, type and name


def collect(out: Path) -> Rows:
    """All that was measured about each sequence from each start."""
    rows: Rows = {}
    for path in sorted(out.glob("*/*.json")):
        values = json.loads(path.read_text())
        own = rows.setdefault((values["start"], values["type"], values["name"]), {})
        match path.parent.name:
            case "ask":
                own["ours"] = values["f1"]
            case "both":
                found = {**values, **values["count"], **values["memory"]}
                own |= {"both": values["f1"], "believed": values["share"], **{name: found[name] for name in COSTS}}
            case "features":
                own["features"] = values["f1"]
            case "alone":
                own |= {"clicks": values["f1_points"], "true box": values["f1_box"]}
    return rows


def show(rows: Rows) -> None:
    """F1 by sequence and by type."""
    for start in dict.fromkeys(key[0] for key in rows):
        print(f"\n{start}\n\n| | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
        some = {key[1:]: row for key, row in rows.items() if key[0] == start}
        means = []
        for kind in dict.fromkeys(kind for kind, _ in some):
            own = {name: row for (type_, name), row in some.items() if type_ == kind}
            for name, row in own.items():
                print(_line(name, [row.get(column) for column in COLUMNS]))
            means.append([_mean([row.get(column) for row in own.values()]) for column in COLUMNS])
            print(_line(f"**{kind}**", means[-1]))
        print(_line("**all**", [_mean(list(each)) for each in zip(*means, strict=True)]))


def write_rows(rows: Rows, path: Path) -> None:
    """As a table in CSV."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["start", "type", "name", *COLUMNS, *COSTS])
        for key, row in rows.items():
            found = [row.get(column) for column in (*COLUMNS, *COSTS)]
            table.writerow([*key, *("" if value is None else round(value, 4) for value in found)])


def _line(name: str, values: list[float | None]) -> str:
    return f"| {name} | " + " | ".join("" if value is None else f"{value:.3f}" for value in values) + " |"


def _mean(values: list) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=(*STEPS, "table"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--preset", default="accurate")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--starts", nargs="+", default=list(STARTS), choices=list(STARTS))
    parser.add_argument("--only", nargs="+", default=[], metavar="SEQUENCE")
    parser.add_argument("--csv", type=Path, help="write the table here, too")
    asked = parser.parse_args()
    if asked.step == "table":
        rows = collect(asked.out)
        show(rows)
        if asked.csv:
            write_rows(rows, asked.csv)
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    prepare_files()
    cells = [
        Cell(
            asked.step,
            each.type,
            each.name,
            str(folder_of(each)),
            start,
            asked.preset,
            asked.device,
            str(asked.out),
        )
        for start in asked.starts
        for each in read_suite(SUITE).sequences
        if not asked.only or each.name in asked.only
    ]
    missing = [cell for cell in cells if not cell.result.exists()]
    missing.sort(key=lambda cell: -len(list((Path(cell.folder) / TRUTH_FOLDER).iterdir())))  # the longest first
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(run_cell, cell): cell for cell in missing}
        for future in as_completed(waiting):
            cell = waiting[future]
            try:
                print(future.result(), flush=True)
            except Exception as error:
                print(f"{cell.step} {cell.start} {cell.name} failed: {error!r}", flush=True)
                cell.result.parent.mkdir(parents=True, exist_ok=True)
                cell.result.with_suffix(".error").write_text(traceback.format_exc())


def folder_of(sequence: Any) -> Path:
    """Of a sequence of the suite, in the dataset's layout."""
    return sequence.input.parent if sequence.input.name == "input-frames" else sequence.input


def prepare_files() -> None:
    """What all processes would work out, worked out once."""
    import torch

    from fewpoint.witness.store import open_model
    from fewpoint.witness.torch_graph import obtain_plain

    if torch.cuda.is_available():
        for path in open_model(MODEL)[1]:
            obtain_plain(path)


if __name__ == "__main__":
    main()
