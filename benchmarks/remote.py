"""How good and how fast a server answers nnInteractive's client, by the number of clicks.

    NN_INTERACTIVE_API_KEY=KEY python benchmarks/remote.py ADDRESS VOLUME LABELS POINTS [--clicks 1 2 4 8] [--learn 900]

needs nninteractive-client. ADDRESS: of `fewpoint serve`. VOLUME, LABELS: NIfTI files of one grid; all labels above 0
are the object. POINTS: a table with columns i, j, k, voxels on it; of these as many as asked for are clicked, evenly
spread over the table, each time for a new object. --learn: with the most clicks, ask again for so many seconds while
it is learnt.
"""

import argparse
import csv
import time
from pathlib import Path

import nibabel
import numpy as np
from nnInteractive.inference.remote import nnInteractiveRemoteInferenceSession


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("volume", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("points", type=Path)
    parser.add_argument("--clicks", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--learn", type=float, default=0.0, metavar="SECONDS")
    asked = parser.parse_args()
    image, spacing = read_volume(asked.volume)
    truth = read_volume(asked.labels)[0] > 0
    with open(asked.points, newline="") as file:
        places = [(int(row["k"]), int(row["j"]), int(row["i"])) for row in csv.DictReader(file)]
    with nnInteractiveRemoteInferenceSession(asked.address) as session:
        began = time.monotonic()
        session.set_image(image[np.newaxis], {"spacing": spacing})
        print(f"{image.shape}, {image.dtype}: sent and prepared in {time.monotonic() - began:.1f} s")
        mask = np.zeros(image.shape, np.uint8)
        session.set_target_buffer(mask)
        for count in sorted(asked.clicks):
            session.reset_interactions()
            seconds = [click(session, place) for place in choose(places, count)]
            each = f"{np.mean(seconds):.2f} s each, at most {max(seconds):.2f}"
            print(f"{count} clicks: F1 {measure_f1(mask, truth):.3f}, {each}", flush=True)
        began = time.monotonic()
        while asked.learn and time.monotonic() - began < asked.learn:
            before = mask.copy()
            session._predict(force_full_refine=True)
            if (mask != before).any():
                print(f"learnt for {time.monotonic() - began:.0f} s: F1 {measure_f1(mask, truth):.3f}", flush=True)


def read_volume(path: Path) -> tuple[np.ndarray, list[float]]:
    """Voxels by k, j and i, as most readers give them, and the millimetres between them."""
    volume = nibabel.load(path)
    return np.ascontiguousarray(np.asarray(volume.dataobj).T), [
        float(each) for each in volume.header.get_zooms()[2::-1]
    ]


def choose(places: list[tuple[int, int, int]], count: int) -> list[tuple[int, int, int]]:
    """So many of the places, evenly spread, the middle one first."""
    inner = (np.arange(count) + 0.5) * len(places) / count
    order = sorted(inner.astype(int).tolist(), key=lambda index: abs(index - len(places) / 2))
    return [places[index] for index in order]


def click(session: nnInteractiveRemoteInferenceSession, place: tuple[int, int, int]) -> float:
    """Seconds until the mask that a click on the object brings is there."""
    began = time.monotonic()
    session.add_point_interaction(place, True)
    return time.monotonic() - began


def measure_f1(mask: np.ndarray, truth: np.ndarray) -> float:
    return float(2 * ((mask > 0) & truth).sum() / ((mask > 0).sum() + truth.sum()))


if __name__ == "__main__":
    main()
