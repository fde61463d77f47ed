"""The library from end to end: python docs/examples/library.py FOLDER

Segments a phantom into FOLDER, corrects it, writes it in other formats, runs a small study, and scores it.
"""

import sys
import threading
from pathlib import Path

import numpy as np

import fewpoint
from fewpoint import Box, Job, Progress, Relabelling, Saving, Words

# For a small phantom, in seconds; leave it out for yours.
SHORT = {
    "warmup.epochs": 4,
    "rounds.round_epochs": 4,
    "rounds.networks": 1,
    "rounds.rounds": 1,
    "rounds.sparse_rounds": 0,
    "network.base_width": 4,
    "training.frames_per_epoch": 12,
    "superpixels.count": 200,
}


def segment_phantom(folder: Path) -> tuple[fewpoint.Result, np.ndarray]:
    """One object from an array and rows of points, with progress and a way to stop."""
    phantom = fewpoint.make_phantom(n_frames=6, size=(48, 40))
    frames: np.ndarray = phantom.sequence.frames
    stop = threading.Event()  # stop.set() in another thread, or on a button, cancels

    def show(progress: Progress) -> None:
        print(f"{progress.seconds:6.1f} s  {progress}")

    result = fewpoint.segment(
        frames,
        phantom.points.coordinates,
        bound=0.3,
        settings="fast",
        changes=SHORT,
        device="cpu",
        out=folder / "run",
        saving=Saving(formats=("nifti", "coco"), probabilities=True, report=False),
        progress=show,
        cancel=stop,
    )
    masks: np.ndarray = result.masks
    print(result, masks.dtype, masks.shape)
    return result, phantom.truth


def correct(folder: Path, truth: np.ndarray) -> fewpoint.Result:
    """The run again, told a whole frame and that its masks should be a little smaller."""
    rows, columns = np.flatnonzero(truth[2].any(axis=1)), np.flatnonzero(truth[2].any(axis=0))
    around = Box(2, int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1)
    run = fewpoint.load_result(folder / "run")
    points = [(frame, *np.argwhere(mask)[len(np.argwhere(mask)) // 2].tolist()) for frame, mask in enumerate(truth)]
    words = Words.of({3: truth[3]}, boxes=(around,), size=0.95)
    frames = fewpoint.make_phantom(n_frames=6, size=(48, 40)).sequence
    print("before:", run)
    saving = Saving(report=False)
    return fewpoint.refine(folder / "run", frames, points, words=words, out=folder / "refined", saving=saving)


def run_study(folder: Path) -> fewpoint.BatchResult:
    """Two sequences in processes of their own, then their masks as one dataset."""
    rows: list[dict[str, str]] = []
    for seed in (0, 1):
        phantom = fewpoint.make_phantom(n_frames=5, size=(48, 40), seed=seed)
        np.save(folder / f"scan{seed}.npy", phantom.sequence.frames)
        lines = [",".join(map(str, row)) for row in phantom.points.coordinates.tolist()]
        (folder / f"clicks{seed}.csv").write_text("\n".join(["frame,y,x", *lines]) + "\n", encoding="utf-8")
        paths = {"input": str(folder / f"scan{seed}.npy"), "points": str(folder / f"clicks{seed}.csv")}
        rows.append({"name": f"p{seed}", "max_fraction": "0.3", **paths})
    defaults = Job(preset="fast", device="cpu", changes=tuple(SHORT.items()))
    plan = fewpoint.plan_batch(rows, folder / "study", defaults)
    print([(row.name, row.action) for row in plan.rows], [row.reason for row in plan.bad])
    result = fewpoint.run_batch(rows, folder / "study", defaults, jobs=2, progress=print)
    lesions = Relabelling(renames={"object": "lesion"})
    collection = fewpoint.collect(folder / "study", folder / "dataset", "nnunet", labels=lesions)
    print({name: [path.name for path in files] for name, files in collection.runs.items()})
    return result


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    result, truth = segment_phantom(folder)
    refined = correct(folder, truth)
    for name, each in (("first", result), ("refined", refined)):
        score = fewpoint.evaluate(each, truth)
        print(f"{name}: F1 {score.f1:.2f}, HD95 {score.hd95} {score.surfaces.unit}, volume {score.volume_error}")
    print(*fewpoint.convert(refined, Saving(("png", "tiff")), folder / "converted"), sep="\n")
    try:
        fewpoint.segment(truth, [(0, 1000, 2)])
    except fewpoint.InputError as error:
        print(f"refused: {error}")
    print(len(run_study(folder).entries), "sequences in", folder / "study")


if __name__ == "__main__":
    main()
