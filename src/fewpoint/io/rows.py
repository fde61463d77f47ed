"""A row of a batch's manifest as a job."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from fewpoint.core.bound import read_share
from fewpoint.core.job import EVERY, AddedWords, Bounds, BoxOnFrame, Changes, GivenBound, Job
from fewpoint.core.plain_text import parse_number, parse_whole
from fewpoint.core.source import Reading
from fewpoint.errors import InputError
from fewpoint.io.given_words import parse_words
from fewpoint.io.images import parse_window
from fewpoint.io.jobs import parse_changes, read_changes, settle_job
from fewpoint.io.pacs.addresses import is_remote, name_input

COLUMNS: dict[str, str] = {
    "input": "what is segmented, any input of fewpoint segment; a .fewpoint project comes with all its annotations",
    "points": "its clicks; not needed if the input has a 2dlocs.csv or is a project",
    "name": "of its run folder; else that of the input",
    "max_fraction": "size limit: the largest share of a frame that the object covers, as 5% or 0.05",
    "largest_box": "instead: FRAME,Y0,X0,Y1,X1 around the object where it is largest",
    "outlined": "drawn masks, [NAME=]FRAME=MASK or [NAME=]FILE, several with a semicolon between",
    "boxes": "[NAME=]FRAME,Y0,X0,Y1,X1 around the object on any frame, several with a semicolon between",
    "size": "how many times larger masks should be, [NAME=][FRAME:]FACTOR, several with a semicolon between",
    "preset": "auto, accurate, fast or paper",
    "method": "instead of a preset: a method other than fewpoint's own, see fewpoint info",
    "settings": "a TOML file, or section.key=value, several with a semicolon between",
    "seed": "a whole number",
    "axis": "along which a volume is cut",
    "channels": "those to keep, as 0,2",
    "with": "further files on the same grid, with a semicolon between",
    "window": "LEVEL,WIDTH, or lung, bone, brain or soft",
    "warm_start": "a finished run, or its model.npz, from whose networks training starts",
    "witness": "a pretrained model that refines the masks, see fewpoint models list",
}
DOUBLE_SUFFIXES = (".nii.gz", ".ome.tif", ".ome.tiff", ".ome.zarr")


@dataclass(frozen=True)
class Row:
    """One sequence as a person wrote it down.

    place: where it stands, for messages. folder: where its relative paths start. values: text by column, without
    those left out.
    """

    place: str
    folder: Path
    values: dict[str, str]

    def find(self, text: str) -> Path:
        """A path of the row.

        >>> Row("line 2", Path("/study"), {}).find("scans/a.nii.gz").as_posix()
        '/study/scans/a.nii.gz'
        """
        return self.folder / Path(text).expanduser()

    def find_input(self, text: str) -> str:
        """A path of the row, or an address on a PACS.

        >>> Row("line 2", Path("/study"), {}).find_input("dicomweb://pacs/studies/1.2/series/1.2.3")
        'dicomweb://pacs/studies/1.2/series/1.2.3'
        """
        return name_input(text) if is_remote(text) else str(self.find(text))


def build_job(row: Row, defaults: Job) -> Job:
    """The job of a row; InputError or SettingsError for what cannot be meant, whatever the files hold.

    defaults: what holds for every row that does not say otherwise. Changes of a row come after those of all.
    """
    values = row.values
    if "" in values:
        raise InputError(f"a row must have no more values than there are columns, got {values[''][:40]} beyond them")
    if "input" not in values:
        raise InputError("an input is needed; fill in the column input")
    path = row.find_input(values["input"])
    job = replace(
        defaults,
        name=_name(values, path),
        input=path,
        points=_find(row, "points") or "",
        reading=_read_reading(row, defaults.reading),
        bounds=_read_bounds(values) or defaults.bounds,
        added_words=_read_words(row) or defaults.added_words,
        method=values.get("method", None if "preset" in values else defaults.method),
        preset=values.get("preset", None if "method" in values else defaults.preset),
        changes=(*defaults.changes, *_read_changes(row)),
        seed=_read_whole(values, "seed") if "seed" in values else defaults.seed,
        warm_start=_find(row, "warm_start") or defaults.warm_start,
        witness=values.get("witness", defaults.witness),
    )
    return settle_job(job)


def make_name(path: str | Path) -> str:
    """A name for a run folder of that of its input; on a PACS the last UID.

    >>> make_name(Path("scans/Patient 7 (left).nii.gz")), make_name(Path("p3/input-frames"))
    ('Patient-7-left', 'p3')
    """
    if is_remote(path):
        return str(path).rpartition("/")[-1]
    path = Path(path)
    own = path.parent.name if path.name == "input-frames" else strip_suffix(path.name)
    return re.sub(r"[^\w.+-]+", "-", own).strip("-.") or "sequence"


def strip_suffix(name: str, suffixes: tuple[str, ...] = DOUBLE_SUFFIXES) -> str:
    """A file's name without its suffix, double ones included.

    >>> strip_suffix("case.1.nii.gz"), strip_suffix("video.mp4"), strip_suffix("frames")
    ('case.1', 'video', 'frames')
    """
    double = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), None)
    return name[: -len(double)] if double else Path(name).stem


def _name(values: dict[str, str], path: str) -> str:
    name = values.get("name")
    if name is None:
        return make_name(path)
    if not re.fullmatch(r"[\w+-][\w.+-]*", name):
        raise InputError(f"a name must be letters, digits, and -_+. within it, for it names a folder; got {name[:60]}")
    return name


def _find(row: Row, column: str) -> str | None:
    return str(row.find(row.values[column])) if column in row.values else None


def _read_reading(row: Row, defaults: Reading) -> Reading:
    values = row.values
    return Reading(
        axis=values.get("axis", defaults.axis),
        channels=_read_wholes(values, "channels") if "channels" in values else defaults.channels,
        added=tuple(row.find_input(part.strip()) for part in _split(values.get("with", ""))),
        window=parse_window(values["window"]) if "window" in values else defaults.window,
    )


def _read_bounds(values: dict[str, str]) -> Bounds:
    if "max_fraction" in values and "largest_box" in values:
        raise InputError("give max_fraction or largest_box, not both")
    if "max_fraction" in values:
        return ((EVERY, GivenBound(_read_fraction(values["max_fraction"]))),)
    return ((EVERY, GivenBound(box=_read_box(values))),) if "largest_box" in values else ()


def _read_words(row: Row) -> AddedWords:
    lists = (_split(row.values.get(column, "")) for column in ("outlined", "boxes", "size"))
    given = parse_words(*lists)
    return tuple((name, each.with_paths(lambda text: str(row.find(text)))) for name, each in given)


def _split(text: str) -> list[str]:
    return [part for part in text.split(";") if part.strip()]


def _read_changes(row: Row) -> Changes:
    text = row.values.get("settings", "")
    if text.lower().endswith(".toml") and "=" not in text:
        return read_changes(row.find(text))
    return parse_changes(_split(text))


def _read_fraction(text: str) -> float:
    try:
        return read_share(text)
    except ValueError:
        raise InputError(f"max_fraction must be a share of a frame, as 5% or 0.05, got {text[:40]}") from None


def _read_number(values: dict[str, str], column: str) -> float:
    try:
        return parse_number(values[column])
    except ValueError:
        raise InputError(f"{column} must be a number, got {values[column][:40]}") from None


def _read_whole(values: dict[str, str], column: str) -> int:
    if not (values[column].isascii() and values[column].isdecimal()):
        raise InputError(f"{column} must be a whole number, 0 or above, got {values[column][:40]}")
    return int(values[column])


def _read_wholes(values: dict[str, str], column: str) -> tuple[int, ...]:
    try:
        return tuple(parse_whole(part) for part in re.split(r"[,;\s]+", values[column]))
    except ValueError:
        raise InputError(f"{column} must be {COLUMNS[column]}, got {values[column][:40]}") from None


def _read_box(values: dict[str, str]) -> BoxOnFrame:
    numbers = _read_wholes(values, "largest_box")
    if len(numbers) != 5:
        raise InputError(f"largest_box must be {COLUMNS['largest_box']}, got {values['largest_box'][:40]}")
    frame, y0, x0, y1, x1 = numbers
    return frame, y0, x0, y1, x1
