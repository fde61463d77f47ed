"""COCO JSON: masks as compressed run lengths, as pycocotools reads them."""

import json
from pathlib import Path

import numpy as np

from fewpoint.core.labels import LabelMap, ObjectLabel
from fewpoint.io.atomic import write_text

BITS, CONTINUES, FIRST_LETTER = 5, 0x20, 48


def write_coco(labels: LabelMap, path: Path) -> None:
    """Write one image per frame, one category per object, and one annotation for each frame that shows an object."""
    n_frames, height, width = labels.values.shape
    images = [
        {"id": index + 1, "file_name": name, "height": height, "width": width}
        for index, name in enumerate(labels.names)
    ]
    numbers = range(1, len(labels.objects) + 1)
    annotations = [
        _annotate((number - 1) * n_frames + index, index, number, mask)
        for number in numbers
        for index, mask in enumerate(labels.mask(number))
        if mask.any()
    ]
    what = "one object" if len(labels.objects) == 1 else f"{len(labels.objects)} objects"
    content = {
        "info": {"description": f"masks of {what} by fewpoint"},
        "images": images,
        "annotations": annotations,
        "categories": [_describe_category(number, labels.objects[number - 1]) for number in numbers],
    }
    write_text(path, json.dumps(content, ensure_ascii=False) + "\n")


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


def _annotate(place: int, index: int, number: int, mask: np.ndarray) -> dict:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    box = [columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1]
    return {
        "id": place + 1,
        "image_id": index + 1,
        "category_id": number,
        "segmentation": {"size": list(mask.shape), "counts": encode_mask(mask)},
        "area": int(mask.sum()),
        "bbox": [int(number) for number in box],
        "iscrowd": 0,
    }
