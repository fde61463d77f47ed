"""`fewpoint evaluate`: how good masks are, given the truth."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.outputs import AsJson, print_json
from fewpoint.cli.trust import Trust
from fewpoint.io.apart.forker import warm_up

if TYPE_CHECKING:
    from fewpoint.evaluation.judging import Evaluation

MasksPath = Annotated[
    Path,
    typer.Argument(
        metavar="MASKS", help="A run folder, a folder of mask images, a NIfTI volume, a TIFF stack, an .npy or an .npz."
    ),
]
TruthPath = Annotated[
    Path, typer.Argument(metavar="TRUTH", help="The same for the ground truth; non-zero pixels are the object.")
]
ByObject = Annotated[bool, typer.Option("--objects", help="Score each object of two label maps.")]
COLUMNS = "      F1  precision  recall       HD95       ASSD   volume"


def evaluate_command(
    masks: MasksPath, truth: TruthPath, by_object: ByObject = False, as_json: AsJson = False, trust: Trust = False
) -> None:
    """Score MASKS against TRUTH.

    Prints F1, precision and recall of each frame, and over all pixels of all frames together with the distance of the
    surfaces (HD95, ASSD) and the relative error of the volume; with --objects those of each object. Distances are in
    millimetres, through a volume, if either file has a spacing, else in pixels within frames.
    """
    warm_up(truth)
    from fewpoint.evaluation.judging import judge_labels, judge_masks
    from fewpoint.evaluation.surfaces import spacing_of
    from fewpoint.io.masks import read_label_pair, read_mask_pair

    if by_object:
        pair = read_label_pair(masks, truth)
        by_number = judge_labels(pair.masks, pair.truth, spacing_of(pair.geometry))
        if as_json:
            print_json("evaluate", {"objects": {str(number): each.as_table() for number, each in by_number.items()}})
            return
        print(f"object{COLUMNS}")
        for number, each in by_number.items():
            print(f"{number:6d}{_describe(each)}")
        return

    pair = read_mask_pair(masks, truth)
    found = judge_masks(pair.masks, pair.truth, spacing_of(pair.geometry))
    if as_json:
        print_json("evaluate", {**found.as_table(), "frames": [asdict(score) for score in found.frames]})
        return
    print(f"frame {COLUMNS}")
    for index, score in enumerate(found.frames):
        print(f"{index:5d}  {score.f1:6.3f}  {score.precision:9.3f}  {score.recall:6.3f}")
    print(f"  all {_describe(found)}")


def _describe(found: "Evaluation") -> str:
    score, unit = found.pooled, found.surfaces.unit
    far, mean = ("-" if value is None else f"{value:.2f} {unit}" for value in (found.hd95, found.assd))
    volume = "-" if found.volume_error is None else f"{found.volume_error:+.1%}"
    return f"  {score.f1:6.3f}  {score.precision:9.3f}  {score.recall:6.3f}  {far:>9}  {mean:>9}  {volume:>7}"
