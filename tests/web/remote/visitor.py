"""A small client that speaks the protocol of nnInteractive's clients, written apart from the server."""

import json
import struct
import urllib.error
import urllib.request

import imagecodecs
import numpy as np


class RefusedError(Exception):
    """What a server answers in the place of what was asked for."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail


class Visitor:
    """One session. mask: as the client shows it."""

    def __init__(self, address: str, key: str = "") -> None:
        self.address = address
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.claimed = json.loads(self.post("/claim")[0])
        self.headers["X-Lease-Token"] = self.claimed["lease_token"]

    def post(self, path: str, body: bytes = b"", meta: dict | None = None, **headers: str) -> tuple[bytes, dict]:
        given = self.headers | headers | ({} if meta is None else {"X-Meta": json.dumps(meta)})
        request = urllib.request.Request(self.address + path, body, given, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.read(), json.loads(answer.headers.get("X-Meta", "{}"))
        except urllib.error.HTTPError as error:
            raise RefusedError(error.code, json.loads(error.read())["detail"]) from None

    def say(self, path: str, **fields) -> bool:
        """Send something marked as JSON; returns whether it was answered."""
        return self.hear(*self.post(path, json.dumps(fields).encode(), **{"Content-Type": "application/json"}))

    def send(self, path: str, array: np.ndarray, **meta) -> bool:
        """Send something drawn."""
        return self.hear(*self.post(path, pack(array), meta))

    def hear(self, body: bytes, meta: dict) -> bool:
        if meta.get("bbox") and meta["ran_prediction"]:
            self.mask[tuple(slice(*side) for side in meta["bbox"])] = unpack(body)
        return meta.get("ran_prediction", False)

    def open(self, image: np.ndarray, **properties) -> None:
        answer, _ = self.post("/set_image", pack(image[np.newaxis]), {"image_properties": properties})
        assert json.loads(answer) == {"original_image_shape": [1, *image.shape]}
        self.mask = np.zeros(image.shape, np.uint8)
        self.say("/set_target_buffer", shape=list(image.shape), dtype="uint8")

    def click(self, place, positive: bool = True, **others) -> bool:
        coordinates = [int(value) for value in place]
        return self.say("/add_point_interaction", coordinates=coordinates, include_interaction=positive, **others)

    def reset(self) -> None:
        self.mask[:] = 0
        self.say("/reset_interactions")

    def leave(self) -> None:
        self.post("/release")


def pack(array: np.ndarray) -> bytes:
    name = array.dtype.name.encode()
    packed = imagecodecs.blosc2_encode(array.tobytes(), typesize=array.itemsize)
    head = b"NNIA" + bytes([1, 1, array.ndim, len(name)]) + name + struct.pack(f"<{array.ndim}q", *array.shape)
    return head + struct.pack("<IQQ", 1, array.nbytes, len(packed)) + packed


def unpack(data: bytes) -> np.ndarray:
    axes, length = data[6:8]
    shape = struct.unpack_from(f"<{axes}q", data, 8 + length)
    at, found = 8 + length + 8 * axes + 4, b""
    while at < len(data):
        _, packed = struct.unpack_from("<QQ", data, at)
        found += imagecodecs.blosc2_decode(data[at + 16 : at + 16 + packed])
        at += 16 + packed
    return np.frombuffer(found, np.uint8).reshape(shape)
