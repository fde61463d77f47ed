"""COCO JSON: masks as compressed run lengths, as pycocotools reads them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fewpoint.core.labels import LabelMap, ObjectLabel
from fewpoint.core.paging import walk
from fewpoint.io.atomic import write_text
from fewpoint.io.images import list_pictures

BITS, CONTINUES, FIRST_LETTER = 5, 0x20, 48


def write_coco(labels: LabelMap, path: Path) -> None:
    """Write one image per frame, one category per object, and one annotation for each frame that shows an object.

    Images are called as the files of the input are; frames of other inputs NAME.png.
    """
    write_study([(labels, name_pictures(labels))], path)


def write_study(parts: Iterable[tuple[LabelMap, Sequence[str]]], path: Path) -> None:
    """One file for several label maps of the same objects, each with the file names of its frames."""
    images, annotations, objects = [], [], ()
    for labels, files in parts:
        objects = labels.objects
        for frame, file in zip(walk(labels.values), files, strict=True):
            height, width = frame.shape
            images.append({"id": len(images) + 1, "file_name": file, "height": height, "width": width})
            masks = ((number, frame == number) for number in range(1, len(objects) + 1))
            for number, mask in masks:
                if mask.any():
                    annotations.append(_annotate(len(annotations) + 1, len(images), number, mask))
    what = "one object" if len(objects) == 1 else f"{len(objects)} objects"
    content = {
        "info": {"description": f"masks of {what} by fewpoint"},
        "images": images,
        "annotations": annotations,
        "categories": [_describe_category(number, label) for number, label in enumerate(objects, start=1)],
    }
    write_text(path, json.dumps(content, ensure_ascii=False) + "\n")


def name_pictures(labels: LabelMap) -> tuple[str, ...]:
    """The file of each frame, with its extension: the input's own if it is a folder of pictures that is still there."""
    files = {} if labels.source is None else list_pictures(labels.source)
    return tuple(files[name].name if name in files else f"{name}.png" for name in labels.names)


def encode_mask(mask: np.ndarray) -> str:
    """The run lengths of a (H, W) bool mask down its columns, zeros first, as COCO's text.

    Each length after the third is written as its difference to the last but one, five bits a letter from the lowest,
    the sixth bit saying that more follow.

    >>> encode_mask(np.array([[0, 1], [0, 1]], bool))
    '22'
    """
    flat = np.concatenate([[False], mask.ravel(order="F")])
    changes = np.flatnonzero(np.diff(flat))
    lengths = np.diff(np.concatenate([[0], changes, [mask.size]])).tolist()
    steps = [length - lengths[index - 2] if index > 2 else length for index, length in enumerate(lengths)]
    return "".join(map(_write_number, steps))


def _write_number(number: int) -> str:
    letters, more = [], True
    while more:
        bits = number & (CONTINUES - 1)
        number >>= BITS
        # The top bit of the last group is the sign, so that a number ends once the rest repeats it.
        more = number != (-1 if bits & CONTINUES >> 1 else 0)
        letters.append(chr((bits | CONTINUES if more else bits) + FIRST_LETTER))
    return "".join(letters)


def _describe_category(number: int, label: ObjectLabel) -> dict:
    return {"id": number, "name": label.name, "supercategory": "object", "color": list(label.colour)}


def _annotate(own: int, image: int, number: int, mask: np.ndarray) -> dict:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    box = [columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1]
    return {
        "id": own,
        "image_id": image,
        "category_id": number,
        "segmentation": {"size": list(mask.shape), "counts": encode_mask(mask)},
        "area": int(mask.sum()),
        "bbox": [int(number) for number in box],
        "iscrowd": 0,
    }
