"""All studies below the root, with how far each is; what they take on disk; and many exports at once."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fewpoint.errors import InputError
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.io.dicom import list_series
from fewpoint.io.projects import ProjectFile, RunRecord, Verdict, name_person, read_project, runs_folder
from fewpoint.web import messages
from fewpoint.web.exporting import NAME, export_masks
from fewpoint.web.faults import MissingError
from fewpoint.web.keeping import EXPORTS_FOLDER, delete_answer, keep_view
from fewpoint.web.places import Root
from fewpoint.web.sessions import Session, Workspace, project_id


def list_work(workspace: Workspace) -> list[messages.WorkEntry]:
    """Inputs and projects below the root, in the order of their names."""
    projects = {file.input.resolve(): (path, file) for path, file in _read_projects(workspace)}
    inputs = dict.fromkeys([*workspace.root.find_inputs(), *projects])
    entries = (_describe(each, projects.get(each), workspace) for each in inputs)
    return sorted(entries, key=lambda entry: entry.input)


def _read_projects(workspace: Workspace) -> Iterator[tuple[Path, ProjectFile]]:
    """All projects whose input is below the root."""
    for path in workspace.list_files():
        with suppress(InputError):
            file = read_project(path)
            if workspace.root.holds(file.input):
                yield path, file


def _describe(path: Path, project: tuple[Path, ProjectFile] | None, workspace: Workspace) -> messages.WorkEntry:
    name = workspace.root.name(path)
    if project is None:
        return messages.WorkEntry(input=name, project=None, state="new", people=[], points=0, runs=0, health=None)
    place, file = project
    finished = [run for run in file.runs.values() if run.state == "finished" and run.best]
    scores = [
        figure["health"] for run in finished[-1:] for figure in run.figures.values() if figure.get("health") is not None
    ]
    return messages.WorkEntry(
        input=name,
        project=project_id(place),
        state=_find_state(place, file),
        people=sorted({name_person(by) for by in (*file.history.undoers, file.review.by)} - {""}),
        points=sum(len(each.points) for each in file.project.objects),
        runs=len(finished),
        health=min(scores, default=None),
    )


def _find_state(place: Path, file: ProjectFile) -> messages.WorkState:
    """How far a project is."""
    verdict = _find_verdict(file)
    exports = runs_folder(place) / EXPORTS_FOLDER
    if verdict != "rejected" and exports.is_dir() and any(exports.iterdir()):
        return "exported"
    if verdict:
        return verdict
    if any(run.state == "finished" and run.best for run in file.runs.values()):
        return "run"
    return "clicked" if file.project.clicked else "new"


def _find_verdict(file: ProjectFile) -> Verdict:
    """What was said about the masks, which holds as long as nothing was said about the project since."""
    return file.review.verdict if file.review.version == file.history.version else ""


def export_all(workspace: Workspace, request: messages.ExportAllRequest) -> list[messages.ExportMessage]:
    """Write the masks of every project that was accepted."""
    accepted = [project_id(path) for path, file in _read_projects(workspace) if _find_verdict(file) == "accepted"]
    sessions = [workspace.find(number) for number in accepted]
    if not sessions:
        raise InputError("no study was accepted yet; check one and accept it first")
    wanted = messages.ExportRequest(format=request.format, probabilities=request.probabilities)
    return [export_masks(session, find_accepted(session), wanted) for session in sessions]


def find_accepted(session: Session) -> RunRecord:
    """The result that was accepted, whatever is shown since."""
    accepted = session.log.results.get(session.log.review.result or 0)
    return accepted if accepted is not None and accepted.best else keep_view(session)


def describe_series(folder: Path, root: Root) -> list[messages.SeriesEntry]:
    """The series of a folder of DICOM images, each with an image that stands for it."""
    return [
        messages.SeriesEntry(
            path=root.name(each.first),
            patient=each.patient,
            study=each.study,
            description=each.description,
            modality=each.modality,
            images=each.images,
        )
        for each in list_series(folder)
    ]


def measure_storage(session: Session, root: Root) -> messages.StorageMessage:
    """What runs, exports and the upload of a project take on disk, in bytes."""
    folder = session.runs_folder
    exports = folder / EXPORTS_FOLDER
    names = sorted(path.name for path in exports.iterdir() if path.is_dir()) if exports.is_dir() else []
    lot = _find_lot(session, root)
    return messages.StorageMessage(
        runs={str(number): _measure(folder / str(number)) for number in session.log.results},
        exports={name: _measure(exports / name) + _measure(exports / f"{name}.zip") for name in names},
        upload=None if lot is None else _measure(lot),
    )


def delete_run(session: Session, number: int) -> None:
    """Remove what a run or an answer left; the place of a run in the history says so."""
    with session.lock:
        record = session.find_run(number)
        if number in session.log.answers:
            return delete_answer(session, record)
        if record.state in ("waiting", "running"):
            raise InputError(f"run {number} has not ended; stop it first")
        _remove(session.runs_folder / str(number))
        gone = replace(record, state="deleted", best=False, figures={}, notes=())
        session.progress.pop(number, None)
        session.record_run(gone, session.describe_record(gone))


def delete_export(session: Session, name: str) -> None:
    folder = session.runs_folder / EXPORTS_FOLDER
    if not NAME.fullmatch(name) or not (folder / name).is_dir():
        raise MissingError(f"there is no export {name[:80]!r}")
    _remove(folder / name)
    (folder / f"{name}.zip").unlink(missing_ok=True)


def delete_upload(workspace: Workspace, session: Session) -> None:
    """Remove what was sent, with its project and runs."""
    lot = _find_lot(session, workspace.root)
    if lot is None:
        raise InputError("this input was not uploaded; remove it yourself")
    if any(record.state in ("waiting", "running") for record in session.log.runs.values()):
        raise InputError("one of its runs has not ended; stop it first")
    workspace.forget(session)
    for path in (lot, session.log.path, session.runs_folder):
        _remove(path)


def _find_lot(session: Session, root: Root) -> Path | None:
    """The folder of the upload that an input belongs to; None for one that was not sent."""
    uploads, path = root.uploads, Path(session.source.path)
    return uploads / path.relative_to(uploads).parts[0] if path.is_relative_to(uploads) else None


def _measure(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else 0


def _remove(path: Path) -> None:
    with explaining_write_errors(path):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
