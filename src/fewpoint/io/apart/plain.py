"""Values between processes that do not trust each other: plain ones, arrays, and a few nouns that check themselves.

A message is a header of three numbers, descriptors if it has any, JSON, and the bytes of its arrays one after another.
Large arrays travel as files without a name.
"""

import base64
import json
import os
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core import paging
from fewpoint.core.geometry import Geometry
from fewpoint.core.labels import Code, LabelMap, ObjectLabel
from fewpoint.core.source import Reading, Source
from fewpoint.io.volumes import Stack

HEADER = struct.Struct(">QQB")
MOST_JSON, MOST_BYTES, MOST_FILES = 2**28, 2**32, 16
PIECE = 2**20
KINDS = "biuf"

NOUNS: dict[str, type] = {}


def may_travel(noun: type) -> type:
    """Let a dataclass be sent; its constructor must refuse what it cannot be."""
    NOUNS[noun.__name__] = noun
    return noun


for _noun in (Code, Geometry, LabelMap, ObjectLabel, Reading, Source, Stack):
    may_travel(_noun)


class GarbledError(Exception):
    """What came is no message."""


class ClosedError(Exception):
    """The other side is gone."""


@dataclass
class Packed:
    """A value ready to be sent."""

    blocks: list[memoryview] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def add(self, value: Any) -> Any:
        """A value as JSON, its arrays set aside."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Path):
            return {"path": str(value)}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.ndarray):
            return self._add_array(value)
        if isinstance(value, tuple | list):
            return {type(value).__name__: [self.add(each) for each in value]}
        if isinstance(value, dict):
            return {"dict": [[self.add(key), self.add(each)] for key, each in value.items()]}
        name = type(value).__name__
        if NOUNS.get(name) is not type(value):
            raise TypeError(f"a {name} cannot be sent")
        return {"noun": name, "fields": {each.name: self.add(getattr(value, each.name)) for each in fields(value)}}

    def _add_array(self, array: np.ndarray) -> dict[str, Any]:
        """In the order that it has in memory, which sums depend on."""
        order = sorted(range(array.ndim), key=lambda axis: (-abs(array.strides[axis]), axis))
        stored = array.transpose(order)
        told = {"array": array.dtype.str, "shape": list(stored.shape), "order": order}
        file = paging.find_store(stored)
        if file is None and array.nbytes >= paging.LARGE_BYTES:
            file = _write_store(stored)
        if file is not None:
            self.files.append(file)
            return told | {"file": True}
        self.blocks.append(np.ascontiguousarray(stored).reshape(-1).view(np.uint8).data)
        return told


def _write_store(array: np.ndarray) -> int:
    with paging.open_store() as file:
        for entry in paging.walk(array):
            file.write(np.ascontiguousarray(entry).data)
        file.flush()
        return os.dup(file.fileno())


def send(link: socket.socket, value: Any) -> None:
    """Send a value; raises TypeError for one that cannot travel."""
    packed = Packed()
    text = json.dumps(packed.add(value)).encode()
    link.sendall(HEADER.pack(len(text), sum(block.nbytes for block in packed.blocks), len(packed.files)))
    if packed.files:
        socket.send_fds(link, [b"f"], packed.files)
        for number in packed.files:
            os.close(number)
    link.sendall(text)
    for block in packed.blocks:
        link.sendall(block)


def receive(link: socket.socket, deadline: float | None = None) -> Any:
    """The next value; TimeoutError after the deadline, ClosedError if none comes, GarbledError for what is no value."""
    read = _reader(link, deadline)
    n_text, n_bytes, n_files = HEADER.unpack(read(HEADER.size))
    if n_text > MOST_JSON or n_bytes > MOST_BYTES or n_files > MOST_FILES:
        raise GarbledError("a message is too large")
    files = _receive_files(link, n_files) if n_files else []
    try:
        told = json.loads(read(n_text))
        value = _Unpacking(read, n_bytes, files).take(told)
    except (ClosedError, TimeoutError, GarbledError):
        raise
    except Exception as error:  # whatever a made-up message leads to
        raise GarbledError(f"{type(error).__name__}: {error}") from error
    finally:
        for number in files:
            os.close(number)
    return value


def _reader(link: socket.socket, deadline: float | None) -> Callable[[int], bytearray]:
    def read(count: int) -> bytearray:
        data = bytearray(count)
        view, done = memoryview(data), 0
        while done < count:
            if deadline is not None:
                link.settimeout(max(1e-3, deadline - time.monotonic()))
            try:
                got = link.recv_into(view[done:], min(count - done, PIECE))
            except ConnectionResetError:
                got = 0
            if not got:
                raise ClosedError
            done += got
        return data

    return read


def _receive_files(link: socket.socket, count: int) -> list[int]:
    _, files, _, _ = socket.recv_fds(link, 1, MOST_FILES)
    if len(files) != count:
        for number in files:
            os.close(number)
        raise GarbledError("files are missing")
    return list(files)


class _Unpacking:
    """Reads a value whose arrays follow."""

    def __init__(self, read: Callable[[int], bytearray], left: int, files: list[int]) -> None:
        self._read, self._left, self._files = read, left, iter(files)

    def take(self, told: Any) -> Any:
        if not isinstance(told, dict):
            if told is None or isinstance(told, bool | int | float | str):
                return told
            raise GarbledError("a bare list")
        if "array" in told:
            return self._take_array(told)
        if "noun" in told:
            return NOUNS[told["noun"]](**{name: self.take(each) for name, each in told["fields"].items()})
        ((kind, inner),) = told.items()
        match kind:
            case "path":
                return Path(inner)
            case "bytes":
                return base64.b64decode(inner)
            case "tuple":
                return tuple(self.take(each) for each in inner)
            case "list":
                return [self.take(each) for each in inner]
            case "dict":
                return {self.take(key): self.take(each) for key, each in inner}
        raise GarbledError(f"unknown: {kind}")

    def _take_array(self, told: dict[str, Any]) -> np.ndarray:
        dtype, shape = np.dtype(told["array"]), tuple(map(int, told["shape"]))
        if dtype.kind not in KINDS or (shape and min(shape) < 0) or sorted(told["order"]) != list(range(len(shape))):
            raise GarbledError("no array")
        size = prod(shape) * dtype.itemsize
        if told.get("file"):
            with open(os.dup(next(self._files)), "rb") as file:
                if os.fstat(file.fileno()).st_size < size:
                    raise GarbledError("a file is too short")
                stored: np.ndarray = np.memmap(file, dtype, "r", shape=shape)
        elif size > self._left:
            raise GarbledError("an array is too short")
        else:
            self._left -= size
            stored = np.ndarray(shape, dtype, self._read(size))
        return stored.transpose(np.argsort(told["order"]) if shape else None)
