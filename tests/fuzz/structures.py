"""Damage to binary files by what they are made of: fields of headers, elements, tags, chunks."""

import gzip
import io
import random
import re
import struct
import warnings
import zipfile
import zlib

ODD_SIZES = (0, 1, 2, 3, 255, 2**15 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1)
ODD_FLOATS = (0.0, -1.0, 1e11, 3e38, float("inf"), float("nan"), 1e-40)
# Offset, format and count of what a NIfTI header says of sizes, types, scales and places.
NIFTI_FIELDS = (
    *((40 + 2 * index, "<h") for index in range(8)),
    *((76 + 4 * index, "<f") for index in range(8)),
    *((280 + 4 * index, "<f") for index in range(12)),
    *((256 + 4 * index, "<f") for index in range(6)),
    *((0, "<i"), (70, "<h"), (72, "<h"), (108, "<f"), (112, "<f"), (116, "<f"), (252, "<h"), (254, "<h"), (344, "<i")),
)
DICOM_NUMBERS = ("Rows", "Columns", "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation", "SamplesPerPixel")
DICOM_TEXTS = ("NumberOfFrames", "RescaleSlope", "RescaleIntercept", "SliceThickness", "InstanceNumber")
DICOM_LISTS = ("PixelSpacing", "ImagePositionPatient", "ImageOrientationPatient")
DICOM_NAMES = ("PhotometricInterpretation", "SOPClassUID", "SeriesInstanceUID", "Modality", "PixelData")
SYNTAXES = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.90", "1.2.3")
SYNTAXES += ("1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.5")
BOXES = re.compile(
    rb"moov|mvhd|trak|tkhd|mdia|mdhd|stsd|stsz|stco|stsc|stts|esds|mdat|ftyp|avih|strh|strf|movi|idx1|LIST"
)
MARKERS = re.compile(rb"\xff[\xc0\xc2\xc4\xda\xdb\xdd\xe0]")


def damage_nifti(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another number in one to three fields of the header, packed or not."""
    is_packed = data[:2] == b"\x1f\x8b"
    content = bytearray(gzip.decompress(data) if is_packed else data)
    for _ in range(dice.choice([1, 1, 2, 3])):
        offset, kind = dice.choice(NIFTI_FIELDS)
        content[offset : offset + struct.calcsize(kind)] = _pack(kind, dice)
    return gzip.compress(bytes(content)) if is_packed else bytes(content)


def _pack(kind: str, dice: random.Random) -> bytes:
    if kind.endswith("f"):
        return struct.pack(kind, dice.choice(ODD_FLOATS))
    size = struct.calcsize(kind)
    return (dice.choice(ODD_SIZES) % 2 ** (8 * size)).to_bytes(size, "little")


def damage_dicom(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Other values of some elements, none, or another transfer syntax."""
    import pydicom

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = pydicom.dcmread(io.BytesIO(data))
        for _ in range(dice.choice([1, 1, 2, 3])):
            _change_element(image, dice)
        stream = io.BytesIO()
        try:
            image.save_as(stream, enforce_file_format=False)
        except Exception:  # what pydicom itself refuses to write is damaged by its bytes elsewhere
            return data[: dice.randrange(len(data))]
    return stream.getvalue()


def _change_element(image, dice: random.Random) -> None:
    from pydicom.uid import UID

    name = dice.choice([*DICOM_NUMBERS, *DICOM_TEXTS, *DICOM_LISTS, *DICOM_NAMES, "syntax"])
    if name == "syntax":
        image.file_meta.TransferSyntaxUID = UID(dice.choice(SYNTAXES))
    elif name in image and dice.random() < 0.2:
        delattr(image, name)
    elif name in DICOM_NUMBERS:
        setattr(image, name, dice.choice(ODD_SIZES) % 2**16)
    elif name in DICOM_TEXTS:
        image.add_new(
            image.data_element(name).tag if name in image else name, "IS", str(dice.choice(ODD_SIZES) % 2**31)
        )
    elif name in DICOM_LISTS:
        setattr(image, name, [dice.choice([0, -1, "1e300", "1e-300", 7])] * dice.choice([1, 2, 3, 6]))
    elif name == "PixelData" and name in image:
        image.PixelData = image.PixelData[: dice.choice([0, 2, 16])]
    else:
        setattr(image, name, dice.choice(["", "1.2.3", "RGB", "PALETTE COLOR", "YBR_FULL", "x" * 16]))


def damage_tiff(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another type, count or value of a tag of the first page; or a file elsewhere as its pixels."""
    if dice.random() < 0.2 and (found := re.search(rb"FileName='([^']*)'", data)):
        name = canary.replace(".raw", ".tif").encode().rjust(len(found[1]), b"/")
        return data[: found.start(1)] + name + data[found.end(1) :]
    content = bytearray(data)
    start = struct.unpack_from("<I", content, 4)[0]
    count = struct.unpack_from("<H", content, start)[0]
    for _ in range(dice.choice([1, 1, 2])):
        entry = start + 2 + 12 * dice.randrange(count)
        offset, size = dice.choice([(0, 2), (2, 2), (4, 4), (8, 4)])
        content[entry + offset : entry + offset + size] = (dice.choice(ODD_SIZES) % 2 ** (8 * size)).to_bytes(
            size, "little"
        )
    return bytes(content)


def damage_array(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another shape, type or order in the header of a .npy, which keeps its length."""
    end = data.index(b"\n")
    odd = [b"(2147483648, 4)", b"(99999, 99999, 9)", b"()", b"(-1,)", b"('a',)", b"(1e9,)", b"(7, 6, 5, 4, 3, 2, 1)"]
    types = [b"'|O'", b"'<U9'", b"'<f8'", b"'<c16'", b"'|V8'", b"[('a', '<i4')]", b"'%n'", b"'<M8[s]'"]
    header = data[10:end]
    if dice.random() < 0.5:
        header = re.sub(rb"\([^)]*\)", dice.choice(odd), header, count=1)
    else:
        header = re.sub(rb"'descr': '[^']*'", b"'descr': " + dice.choice(types), header, count=1)
    header = header.strip().ljust(end - 10)[: end - 10]
    return data[:10] + header + data[end:]


def damage_archive(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another array in a .npz, one of another name, or one less."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = dice.choice(list(parts))
    kind = dice.randrange(4)
    if kind < 2:
        parts[name] = damage_array(parts[name], dice, canary)
    elif kind == 2:
        parts[dice.choice(["../a.npy", canary, "x" * 300, "frames.npy"])] = parts.pop(name)
    else:
        del parts[name]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, content in parts.items():
            archive.writestr(key, content)
    return stream.getvalue()


def damage_film(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another size before, or other numbers after, the name of a box of an .mp4 or a chunk of an .avi."""
    content = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 3])):
        place = dice.choice([found.start() for found in BOXES.finditer(data)])
        offset = place - 4 if dice.random() < 0.4 else place + 4 + 4 * dice.randrange(12)
        content[offset : offset + 4] = dice.choice(ODD_SIZES).to_bytes(4, dice.choice(["little", "big"]))
    return bytes(content)


def damage_png(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Other sizes, depth or colours in the header, or another chunk, with a checksum that is right."""
    header = bytearray(data[12:29])
    place, size = dice.choice([(4, 4), (8, 4), (12, 1), (13, 1), (14, 1), (15, 1), (16, 1), (0, 4)])
    header[place : place + size] = (dice.choice(ODD_SIZES) % 2 ** (8 * size)).to_bytes(size, "big")
    return data[:12] + header + zlib.crc32(header).to_bytes(4, "big") + data[33:]


def damage_jpeg(data: bytes, dice: random.Random, canary: str) -> bytes:
    """Another length or content of a segment."""
    content = bytearray(data)
    place = dice.choice([found.start() for found in MARKERS.finditer(data)]) + 2 + dice.randrange(10)
    content[place : place + 2] = (dice.choice(ODD_SIZES) % 2**16).to_bytes(2, "big")
    return bytes(content)
