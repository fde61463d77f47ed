"""`fewpoint evaluate`: how good masks are, given the truth."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

MasksPath = Annotated[
    Path,
    typer.Argument(
        metavar="MASKS", help="A run folder, a folder of mask images, a NIfTI volume, a TIFF stack, an .npy or an .npz."
    ),
]
TruthPath = Annotated[
    Path, typer.Argument(metavar="TRUTH", help="The same for the truth; pixels other than zero show the object.")
]
ByObject = Annotated[
    bool, typer.Option("--objects", help="Score each object by itself: pixels are the numbers of a label map in both.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def evaluate_command(masks: MasksPath, truth: TruthPath, by_object: ByObject = False, as_json: AsJson = False) -> None:
    """Score MASKS against TRUTH.

    Prints F1, precision and recall of each frame, and over all pixels of all frames together; with --objects those of
    each object over all frames.
    """
    from fewpoint.evaluation.metrics import score_labels, score_masks
    from fewpoint.io.masks import read_label_pair, read_mask_pair

    if by_object:
        by_number = {number: asdict(each) for number, each in score_labels(*read_label_pair(masks, truth)).items()}
        if as_json:
            print(json.dumps({"objects": by_number}))
            return
        print("object      F1  precision  recall")
        for number, each in by_number.items():
            print(f"{number:6d}  {each['f1']:6.3f}  {each['precision']:9.3f}  {each['recall']:6.3f}")
        return

    scores = score_masks(*read_mask_pair(masks, truth))
    if as_json:
        print(json.dumps({**asdict(scores.pooled), "frames": [asdict(score) for score in scores.frames]}))
        return
    print("frame      F1  precision  recall")
    for index, score in enumerate(scores.frames):
        print(f"{index:5d}  {score.f1:6.3f}  {score.precision:9.3f}  {score.recall:6.3f}")
    pooled = scores.pooled
    print(f"  all  {pooled.f1:6.3f}  {pooled.precision:9.3f}  {pooled.recall:6.3f}")
