"""Make docs/gallery.md, its pictures and its figures, of data that anybody can get.

    pip download totalsegmentator==2.18.0 --no-deps --no-binary :all: --dest DOWNLOADS
    python docs/gallery.py DOWNLOADS/totalsegmentator-2.18.0.tar.gz --machine "WHAT IT RUNS ON"

needs the extra `dicom`. The archive holds an MRI with segmentations (Apache-2.0); the ultrasound video comes with
pydicom (MIT), the phantom with fewpoint. Each is segmented by the preset `fast` from a few clicks, without a bound.
"""

import argparse
import csv
import datetime
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from fewpoint import ImageSequence, PointSet, make_phantom, read_sequence, score_masks, segment
from fewpoint.evaluation.truth import click_spread
from fewpoint.report.montage import draw_montage
from fewpoint.report.tiles import set_scene

DOCS = Path(__file__).parent
PICTURES, FIGURES, PAGE = DOCS / "images" / "gallery", DOCS / "gallery.csv", DOCS / "gallery.md"
CLICKS = 5  # of each object, spread over the frames that show it
SEED = 0
WIDTH = 1200
SCORES = ("f1", "precision", "recall")

Row = dict[str, str]  # of gallery.csv

REFERENCE_FILES = "totalsegmentator-2.18.0/tests/reference_files/"
TOO_SMALL = "troubleshooting.md#it-is-too-small-or-too-large"
# By hand, spread over the left ventricle: the video comes without a truth.
VENTRICLE = [(0, 110, 178), (7, 80, 172), (14, 115, 180), (21, 100, 170), (28, 75, 182)]


@dataclass(frozen=True, eq=False)
class Exhibit:
    """Frames, clicks on an object, and its (T, H, W) bool truth; None if nobody knows it."""

    name: str
    title: str
    text: str
    sequence: ImageSequence
    points: PointSet
    truth: np.ndarray | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="totalsegmentator-2.18.0.tar.gz")
    parser.add_argument("--machine", required=True, help="what this runs on, in words, for the page")
    parser.add_argument("--only", nargs="*", default=[], help="exhibits to make again; the others stay")
    given = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(given.archive) as archive:
            wanted = [member for member in archive if member.name.startswith(REFERENCE_FILES + "example_")]
            archive.extractall(folder, wanted, filter="data")
        exhibits = list(hang(Path(folder) / REFERENCE_FILES))
    for exhibit in exhibits:
        if not given.only or exhibit.name in given.only:
            rows = [row for row in read_figures() if row["exhibit"] != exhibit.name]
            write_figures([*rows, make(exhibit, given.machine)])
    figures = {row["exhibit"]: row for row in read_figures()}
    shown = [describe(each, figures[each.name]) for each in exhibits if each.name in figures]
    PAGE.write_text(HEAD.format(clicks=CLICKS) + "\n".join(shown) + FOOT, encoding="utf-8")


def make(exhibit: Exhibit, machine: str) -> Row:
    """Segment, draw, and return a row of figures."""
    # Without its source: nothing is written in the format of the input, whose headers may not allow it.
    sequence = replace(exhibit.sequence, source=None)
    started = time.perf_counter()
    result = segment(sequence, exhibit.points, settings="fast", seed=SEED)
    seconds = time.perf_counter() - started
    scene = set_scene(exhibit.sequence, exhibit.points, result, exhibit.truth)
    save_picture(draw_montage(scene, columns=6), exhibit.name)
    today = datetime.date.today()
    return {
        "exhibit": exhibit.name,
        **score(result.masks, exhibit.truth),
        "seconds": f"{seconds:.0f}",
        "day": f"{today.day} {today:%B %Y}",
        "machine": machine,
    }


def score(masks: np.ndarray, truth: np.ndarray | None) -> Row:
    if truth is None:
        return dict.fromkeys(SCORES, "")
    pooled = score_masks(masks, truth).pooled
    return {key: f"{getattr(pooled, key):.2f}" for key in SCORES}


def read_figures() -> list[Row]:
    if not FIGURES.exists():
        return []
    with FIGURES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_figures(rows: list[Row]) -> None:
    with FIGURES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def hang(folder: Path) -> Iterator[Exhibit]:
    """The exhibits, in the order of the page."""
    yield click(
        "mr-liver",
        "The liver in an MRI",
        "A NIfTI of 20 slices of 117 x 91. The lobe without a click is missed: [what to do](" + TOO_SMALL + ").",
        read_sequence(folder / "example_mr_sm.nii.gz"),
        read_label(folder / "example_seg_mr.nii.gz", 5),
    )
    from pydicom.data import get_testdata_file

    film = read_sequence(str(get_testdata_file("examples_ybr_color.dcm")))
    yield Exhibit(
        "ultrasound",
        "The left ventricle in an ultrasound video",
        "A DICOM video of 30 frames of 320 x 240 in colour. Clicked by hand, all over the chamber; in a first try the "
        "clicks lay close together, and the mask was too small. While the valve is open the mask continues into the "
        "atrium: "
        "[what to do](troubleshooting.md#it-leaks). It has no ground truth, so there is no figure.",
        film,
        PointSet.from_rows(VENTRICLE),
        None,
    )
    phantom = make_phantom(24, (128, 128), seed=1, channels=3)
    yield click(
        "phantom",
        "A phantom",
        "Made up, 24 frames of 128 x 128 in colour: the object moves, deforms and changes size; distractors stay.",
        phantom.sequence,
        phantom.truth,
    )


def click(name: str, title: str, text: str, sequence: ImageSequence, truth: np.ndarray) -> Exhibit:
    """An exhibit whose clicks are drawn from its truth."""
    return Exhibit(name, title, text, sequence, click_spread(truth, CLICKS, SEED), truth)


def read_label(path: Path, label: int) -> np.ndarray:
    """(T, H, W) bool of a label of a volume, cut as read_sequence cuts the image on the same grid."""
    return read_sequence(path).frames[..., 0] == label


def save_picture(picture: np.ndarray, name: str) -> None:
    image = Image.fromarray(picture)
    image.thumbnail((WIDTH, 10 * WIDTH))
    image.save(PICTURES / f"{name}.jpg", quality=75, subsampling=0)  # thin coloured lines keep their colours


def describe(exhibit: Exhibit, row: Row) -> str:
    """The exhibit's part of the page."""
    told = [exhibit.text, f"{len(exhibit.points)} clicks; {row['seconds']} s on {row['machine']}, {row['day']}."]
    if exhibit.truth is not None:
        told.append(f"**F1 {row['f1']}** (precision {row['precision']}, recall {row['recall']}).")
    picture = f"![{exhibit.title}](images/gallery/{exhibit.name}.jpg)"
    return "\n".join([f"## {exhibit.title}", "", " ".join(told), "", picture, ""])


HEAD = """# Gallery

What `fast` makes of {clicks} clicks on an object, without a size limit and without corrections. Yellow rings are the
clicks, blue is the outline of the masks, orange that of the ground truth if there is one, below is the probability.
Made by `python docs/gallery.py`, with figures in `docs/gallery.csv`; the machine had several times more work than cores
meanwhile, so the seconds are far above [what to expect](explanation/time.md).

The MRI comes with TotalSegmentator 2.18.0 (Apache-2.0); its "ground truth" is that program's output, and the
clicks are drawn from it. The video comes with pydicom (MIT). How good masks are on twenty sequences with
a person's truth, whose pictures may not be shown here, is in [where it stands](../benchmarks/README.md).

"""

FOOT = """
## A gallery of your own

- `fewpoint batch MANIFEST.csv --out DIR` leaves `DIR/index.html`: a picture of each sequence, lowest quality first
  ([how](how-to/batch.md)).
- With ground truth, `fewpoint bench SUITE.toml --out DIR` leaves `DIR/report.html`: a montage of each sequence and
  method with its F1, the worst first ([how](how-to/bench.md)).
- Every run has `overlay.png` and `report.html` in its folder.
"""

if __name__ == "__main__":
    main()
