"""Damage to files: of any bytes, and of what a kind of file is made of."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

import structures

ODD_NUMBERS = (0, -1, 1, 2**31 - 1, 2**31, 2**63, -(2**31), 1e308, float("nan"), 0.5, 10**30)
ODD_TEXTS = ("", "%s%n%s%n", "../" * 8, "x" * 3000, "LIST", "\x1b[2J", "1_0", "١", "\0", "LOCAL", "pickle", "|O")
ODD_BYTES = (b"\xff\xff\xff\x7f", b"\0\0\0\0", b"9999", b"\xff\xff", b"%n")


def damage_bytes(data: bytes, dice: random.Random) -> bytes:
    """Cut, flip, overwrite, repeat or fill with large numbers; most damage falls on the header."""
    content = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 4, 16])):
        if not content:
            return b""
        reach = len(content) if dice.random() < 0.4 else min(len(content), 600)
        place = dice.randrange(reach)
        kind = dice.randrange(5)
        if kind == 0:
            del content[place:]
        elif kind == 1:
            content[place] ^= 1 << dice.randrange(8)
        elif kind == 2:
            content[place : place + 4] = dice.choice([*ODD_BYTES, dice.randbytes(4)])
        elif kind == 3:
            content[place:place] = content[place : place + dice.randrange(64)]
        else:
            del content[place : place + dice.randrange(1, 16)]
    return bytes(content)


def damage_json(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another value, a field too few, or another kind of value somewhere below."""
    lines = data.split(b"\n")
    number = dice.randrange(len([line for line in lines if line.strip()]))
    try:
        table = json.loads(lines[number] if number or data.count(b"\n{") else data)
    except ValueError:
        return damage_bytes(data, dice)
    is_line = len(lines) > 2 and lines[number].strip().startswith(b"{")
    changed = json.dumps(_change(table, dice, canary)).encode()
    return b"\n".join([*lines[:number], changed, *lines[number + 1 :]]) if is_line else changed


def _change(value: Any, dice: random.Random, canary: str) -> Any:
    if isinstance(value, dict) and value and dice.random() < 0.85:
        name = dice.choice(list(value))
        if dice.random() < 0.2:
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: _change(value[name], dice, canary)}
    if isinstance(value, list) and value and dice.random() < 0.7:
        place = dice.randrange(len(value))
        return [*value[:place], _change(value[place], dice, canary), *value[place + 1 :]]
    return dice.choice([*ODD_NUMBERS, *ODD_TEXTS, canary, None, [], {}, [[]], True])


def damage_header(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another value of a line of a header in text, another line, or another name of the data."""
    head, end, pixels = data[:2000].partition(b"\n\n") if data.startswith(b"NRRD") else (data[:2000], b"", b"")
    lines = head.split(b"\n")
    place = dice.randrange(max(1, len(lines) - 1))
    odd = str(dice.choice([*ODD_NUMBERS, *ODD_TEXTS, canary])).encode("utf-8", "replace")
    if dice.random() < 0.3:
        name = dice.choice([b"ElementDataFile = ", b"data file: ", b"ElementDataFile : ", b"encoding: ", b"NDims = "])
        lines.insert(place, name + odd)
    else:
        lines[place] = re.sub(rb"([=:]\s*).*", lambda found: found[1] + odd, lines[place], count=1)
    return b"\n".join(lines) + end + pixels + data[2000:]


def damage_table(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another value in a table or in settings."""
    parts = re.split(rb"([,\n=])", data)
    parts[dice.randrange(len(parts))] = str(dice.choice([*ODD_NUMBERS, *ODD_TEXTS, canary])).encode("utf-8", "replace")
    return b"".join(parts)


STRUCTURED: dict[tuple[str, ...], Callable[[bytes, random.Random, str], bytes]] = {
    (".json", ".fewpoint", ".zarray", ".zattrs", ".zgroup"): damage_json,
    (".mha", ".mhd", ".nrrd", ".nhdr"): damage_header,
    (".csv", ".fcsv", ".toml"): damage_table,
    (".nii", ".nii.gz"): structures.damage_nifti,
    (".dcm", "-4001"): structures.damage_dicom,
    (".tif",): structures.damage_tiff,
    (".npy",): structures.damage_array,
    (".npz",): structures.damage_archive,
    (".mp4", ".avi", ".mov"): structures.damage_film,
    (".png",): structures.damage_png,
    (".jpg",): structures.damage_jpeg,
}


def damage(name: str, data: bytes, dice: random.Random, canary: str) -> bytes:
    """A file of a kind, damaged."""
    structured = next((each for ends, each in STRUCTURED.items() if name.endswith(ends)), None)
    if structured is None or dice.random() < 0.4:
        return damage_bytes(data, dice)
    return structured(data, dice, canary)
