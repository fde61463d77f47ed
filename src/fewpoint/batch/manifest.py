"""What a batch is to do: a CSV with a row a sequence, or a folder of inputs that have points beside them."""

import csv
import difflib
from dataclasses import dataclass
from pathlib import Path

from fewpoint.errors import InputError
from fewpoint.io.points import find_points
from fewpoint.io.projects import is_project, read_project

COLUMNS: dict[str, str] = {
    "input": "what is segmented, any input of fewpoint segment",
    "points": "its clicks; may be left out where the input comes with a 2dlocs.csv",
    "name": "of its run folder; else that of the input",
    "max_fraction": "largest share of a frame that the object covers",
    "largest_box": "instead: FRAME,Y0,X0,Y1,X1 round the object where it is largest",
    "preset": "auto, accurate, fast or paper",
    "settings": "a TOML file, or section.key=value, several with a semicolon between",
    "seed": "a whole number",
    "axis": "along which a volume is cut",
    "channels": "those to keep, as 0,2",
    "with": "further files on the same grid, with a semicolon between",
    "window": "LEVEL,WIDTH, or lung, bone, brain or soft",
    "time_limit": "minutes",
    "warm_start": "a finished run, or its model.npz, from whose networks learning starts",
}
POINT_SUFFIXES = (".points.csv", ".mrk.json", ".fcsv", ".csv")
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


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a manifest, or of a folder, in order."""
    return _find_rows(path.absolute()) if path.is_dir() else _read_csv(path.absolute())


def strip_suffix(name: str, suffixes: tuple[str, ...] = DOUBLE_SUFFIXES) -> str:
    """A file's name without its suffix, double ones included.

    >>> strip_suffix("case.1.nii.gz"), strip_suffix("video.mp4"), strip_suffix("frames")
    ('case.1', 'video', 'frames')
    """
    double = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), None)
    return name[: -len(double)] if double else Path(name).stem


def _read_csv(path: Path) -> tuple[Row, ...]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the manifest {path} must be a CSV in UTF-8, or a folder: {error}") from error
    reader = csv.reader(text.splitlines())
    header = [name.strip() for name in next(reader, [])]
    _check_header(header, path)
    rows = [
        Row(f"line {reader.line_num}", path.parent, _name_values(header, line))
        for line in reader
        if any(value.strip() for value in line)
    ]
    if not rows:
        raise InputError(f"the manifest {path} must have a row for each sequence, it has none")
    return tuple(rows)


def _check_header(header: list[str], path: Path) -> None:
    for name in header:
        if name not in COLUMNS:
            nearest = difflib.get_close_matches(name, COLUMNS, n=1, cutoff=0.0)[0]
            raise InputError(
                f"the manifest {path} has a column {name[:40] or 'without a name'}; did you mean {nearest}? "
                f"There are {', '.join(COLUMNS)}"
            )
    if "input" not in header or len(set(header)) < len(header):
        raise InputError(f"the manifest {path} must have a column input, and each column once, got {','.join(header)}")


def _name_values(header: list[str], line: list[str]) -> dict[str, str]:
    """Values beyond the header are kept under a name of no column, so that the check of the row finds them."""
    named = dict(zip(header, line, strict=False))
    extra = {"": ",".join(line[len(header) :])} if len(line) > len(header) else {}
    return {name: value.strip() for name, value in {**named, **extra}.items() if value.strip()}


def _find_rows(folder: Path) -> tuple[Row, ...]:
    """Projects of the annotator, folders in the dataset's layout, and inputs with points of the same name beside."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    points = {
        strip_suffix(entry.name, POINT_SUFFIXES): entry.name
        for entry in entries
        if entry.is_file() and entry.name.lower().endswith(POINT_SUFFIXES)
    }
    rows = []
    for entry in entries:
        if is_project(entry):
            rows.append(Row(entry.name, folder, _read_project_row(entry)))
        elif entry.is_dir() and find_points(entry):
            rows.append(Row(entry.name, folder, {"input": entry.name}))
        elif entry.name not in points.values() and (beside := points.get(strip_suffix(entry.name))):
            rows.append(Row(entry.name, folder, {"input": entry.name, "points": beside}))
    if not rows:
        raise InputError(
            f"no sequence with points found in {folder}: looked for NAME.nii.gz, NAME.mp4, a folder NAME or another "
            "input with NAME.csv, NAME.mrk.json or NAME.fcsv beside it, or NAME.fewpoint; give a manifest instead"
        )
    return tuple(rows)


def _read_project_row(path: Path) -> dict[str, str]:
    """What a project says, as columns; of the bounds of several objects the largest, which holds for all."""
    found = read_project(path)
    project = found.project
    bounds = [bound.fraction for each in project.clicked if (bound := project.bound_of(each.name)) is not None]
    bound = {"max_fraction": repr(max(bounds))} if bounds else {}
    fixed = {"input": str(found.input), "points": path.name, "name": path.stem}
    return {**fixed, "preset": project.preset, "seed": str(project.seed), **bound}
