"""The project file: nothing that a person did is lost, whatever happens to the process."""

import errno
import json
import os
import signal
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewpoint.core import Box, Words, actions
from fewpoint.core.actions import AddPoint, MovePoint, Redo, Undo
from fewpoint.core.project import Project, apply_action
from fewpoint.errors import InputError, OutputError, RunConflictError
from fewpoint.io import projects
from fewpoint.io.projects import FAR_STATES, LAST_STATES, History, ProjectLog, RunRecord, interrupt_runs, read_project

SHAPE = (4, 10, 12)


def begin(folder) -> ProjectLog:
    (folder / "frames").mkdir(exist_ok=True)
    return ProjectLog.create(folder / "frames.fewpoint", folder / "frames", SHAPE)


def points_of(file) -> list[tuple[int, int, int]]:
    return [(click.frame, click.y, click.x) for click in file.project.objects[0].points]


def test_what_was_done_is_there_after_the_next_start(tmp_path):
    log = begin(tmp_path)
    log.do(AddPoint("object", 1, 2, 3))
    log.do(AddPoint("object", 2, 2, 3))
    log.do(Undo())
    log.close()
    again = ProjectLog.open(log.path)
    assert points_of(again) == [(1, 2, 3)]
    assert (again.history.version, again.history.can_undo(), again.history.can_redo()) == (3, True, True)
    again.do(Redo())
    assert points_of(again) == [(1, 2, 3), (2, 2, 3)]
    again.close()


def test_undo_and_redo_have_no_limit_and_a_new_action_ends_redo(tmp_path):
    log = begin(tmp_path)
    for x in range(12):
        log.do(AddPoint("object", 0, 0, x))
    for _ in range(12):
        log.do(Undo())
    assert points_of(log) == [] and not log.history.can_undo()
    for _ in range(5):
        log.do(Redo())
    log.do(AddPoint("object", 3, 3, 3))
    assert len(points_of(log)) == 6 and not log.history.can_redo()
    with pytest.raises(InputError, match="nothing to redo"):
        log.do(Redo())
    log.close()


def test_words_can_be_undone_and_are_there_after_the_next_start(tmp_path):
    log = begin(tmp_path)
    said = (
        AddPoint("object", 1, 2, 3),
        actions.Brush("object", 0, ((0, 5),)),
        actions.SetBox("object", 2, 1, 1, 5, 5),
        actions.SetSize("object", 1.5),
        actions.SetSize("object", 0.8, 3),
    )
    states = [log.project]
    for action in said:
        log.do(action)
        states.append(log.project)
    for state in states[-2::-1]:
        log.do(Undo())
        assert log.project == state
    for state in states[1:]:
        log.do(Redo())
        assert log.project == state
    log.close()
    words = Words({0: ((0, 5),)}, (Box(2, 1, 1, 5, 5),), 1.5, {3: 0.8})
    assert read_project(log.path).project.to_words() == (("object", words),)


def test_a_project_from_before_boxes_on_any_frame_is_read(tmp_path):
    log = begin(tmp_path)
    log.close()
    old = [
        {"object": "object", "frame": 1, "top": 1, "left": 1, "bottom": 5, "right": 5, "kind": "set_box"},
        {"object": "object", "kind": "clear_box"},
        {"object": "object", "frame": 2, "top": 1, "left": 1, "bottom": 4, "right": 4, "kind": "set_box"},
    ]
    with open(log.path, "a", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"at": "2026-01-01", "action": action}) + "\n" for action in old)
    assert read_project(log.path).project.objects[0].boxes == (Box(2, 1, 1, 4, 4),)


def test_a_project_can_be_read_as_it_was_after_so_many_actions(tmp_path):
    log = begin(tmp_path)
    for x in range(3):
        log.do(AddPoint("object", 0, 0, x))
    log.close()
    assert len(points_of(read_project(log.path, version=2))) == 2


@pytest.mark.parametrize("tail", [b'{"at": "2026', b"\0\0\0\0", b'{"action": {"kind": "undo"}}', b"\xff\n", b"[]\n"])
def test_a_last_line_that_is_not_whole_is_dropped_and_the_next_one_counts(tmp_path, tail):
    log = begin(tmp_path)
    log.do(AddPoint("object", 1, 2, 3))
    log.close()
    with open(log.path, "ab") as stream:
        stream.write(tail)
    again = ProjectLog.open(log.path)
    again.do(AddPoint("object", 2, 2, 3))
    again.close()
    assert points_of(read_project(log.path)) == [(1, 2, 3), (2, 2, 3)]


@pytest.mark.parametrize("cut", range(0, 120, 7))
def test_a_file_cut_anywhere_loses_only_what_is_behind_the_cut(tmp_path, cut):
    log = begin(tmp_path)
    for x in range(4):
        log.do(AddPoint("object", 0, 0, x))
    log.close()
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[: len(whole) - cut])
    kept = whole[: len(whole) - cut].count(b"\n") - 1
    assert points_of(read_project(log.path)) == [(0, 0, x) for x in range(kept)]


def test_a_damaged_line_in_the_middle_is_told_and_nothing_is_changed(tmp_path):
    log = begin(tmp_path)
    log.do(AddPoint("object", 1, 2, 3))
    log.close()
    header, line = log.path.read_bytes().splitlines()
    log.path.write_bytes(header + b"\nxx\n" + line + b"\n")
    before = log.path.read_bytes()
    with pytest.raises(InputError, match="line 2 of a project"):
        ProjectLog.open(log.path)
    assert log.path.read_bytes() == before


def test_a_full_disk_leaves_the_log_whole_and_the_action_undone(tmp_path, monkeypatch):
    log = begin(tmp_path)
    log.do(AddPoint("object", 0, 0, 0))

    def refuse(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refuse)
        with pytest.raises(OutputError, match="disk is full"):
            log.do(AddPoint("object", 0, 0, 1))
    assert points_of(log) == [(0, 0, 0)]
    log.do(AddPoint("object", 0, 0, 2))
    log.close()
    assert points_of(read_project(log.path)) == [(0, 0, 0), (0, 0, 2)]


class FullDisk:
    """Stands for a file on a disk on which nothing can be done any more, until there is room again."""

    def __init__(self, stream) -> None:
        self._stream, self.room = stream, False

    def __getattr__(self, name):
        if not self.room and name in ("write", "truncate", "seek"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return getattr(self._stream, name)


def test_a_word_refused_on_a_disk_that_stays_full_is_not_written_later(tmp_path):
    log = begin(tmp_path)
    log.do(AddPoint("object", 0, 0, 0))
    log._stream = disk = FullDisk(log._stream)
    for x in (1, 2):
        with pytest.raises(OutputError, match="disk is full"):
            log.do(AddPoint("object", 0, 0, x))
    disk.room = True
    log.do(AddPoint("object", 0, 0, 3))
    log.close()
    assert points_of(read_project(log.path)) == [(0, 0, 0), (0, 0, 3)]


@pytest.mark.parametrize("name", ["fsync", "link"])
def test_a_project_that_cannot_be_begun_leaves_nothing_that_is_taken_for_one(tmp_path, monkeypatch, name):
    def refuse(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, name, refuse)
        patched.setattr(os, "rename", refuse)
        with pytest.raises(OutputError, match="disk is full"):
            begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]
    begin(tmp_path).close()


def test_a_project_is_not_begun_over_another(tmp_path):
    begin(tmp_path).close()
    with pytest.raises(OutputError, match="exists"):
        begin(tmp_path)


def test_a_disk_without_links_keeps_projects_too(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *given: (_ for _ in ()).throw(OSError(errno.EPERM, "no links here")))
    begin(tmp_path).close()
    assert read_project(tmp_path / "frames.fewpoint").project.objects


KILLED = """
import os, signal, sys
from pathlib import Path
from fewpoint.core.actions import AddPoint
from fewpoint.io.projects import ProjectLog
log = ProjectLog.open(Path(sys.argv[1]))
for x in range(10):
    log.do(AddPoint("object", 0, 0, x))
    print(x, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_click_that_was_answered_is_lost_by_a_kill(tmp_path):
    log = begin(tmp_path)
    log.close()
    done = subprocess.run([sys.executable, "-c", KILLED, str(log.path)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == len(points_of(read_project(log.path))) == 10


def test_every_action_is_on_disk_before_it_counts(tmp_path, monkeypatch):
    log = begin(tmp_path)
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(log.history.version), real(descriptor)))
    log.do(AddPoint("object", 0, 0, 0))
    log.do(Undo())
    assert synced == [0, 1]
    log.close()


def test_one_project_is_open_in_one_process_at_a_time(tmp_path):
    log = begin(tmp_path)
    with pytest.raises(RunConflictError, match="another fewpoint has"):
        ProjectLog.open(log.path)
    log.close()
    ProjectLog.open(log.path).close()


def test_a_run_that_the_last_server_left_is_said_to_be_interrupted(tmp_path):
    log = begin(tmp_path)
    log.record_run(RunRecord(1, 0, (0,), state="finished", best=True))
    log.record_run(RunRecord(2, 0, (0,), state="running"))
    interrupt_runs(log)
    log.close()
    states = {number: run.state for number, run in read_project(log.path).runs.items()}
    assert states == {1: "finished", 2: "interrupted"}


def test_the_input_is_found_where_the_whole_folder_was_moved(tmp_path):
    (tmp_path / "one").mkdir()
    log = begin(tmp_path / "one")
    log.close()
    (tmp_path / "one").rename(tmp_path / "two")
    assert read_project(tmp_path / "two" / "frames.fewpoint").input == tmp_path / "two" / "frames"


def test_the_input_of_a_project_of_an_earlier_version_is_found_where_only_the_project_was_moved(tmp_path):
    """Those say where on the machine it was."""
    log = begin(tmp_path)
    log.close()
    first, rest = log.path.read_text(encoding="utf-8").split("\n", 1)
    first = json.dumps({**json.loads(first), "input_absolute": str(tmp_path / "frames")})
    (tmp_path / "away").mkdir()
    moved = tmp_path / "away" / "frames.fewpoint"
    moved.write_text(f"{first}\n{rest}", encoding="utf-8")
    assert read_project(moved).input == tmp_path / "frames"


def test_a_project_does_not_say_how_the_folders_of_a_machine_are_called(tmp_path):
    log = begin(tmp_path)
    log.close()
    assert str(tmp_path) not in log.path.read_text(encoding="utf-8")
    assert read_project(log.path).input == tmp_path / "frames"


@pytest.mark.parametrize(
    "text",
    ["", "\n", "frame,y,x\n", "{}\n", '{"format": "fewpoint project"}\n', "[1]\n", '{"format": "fewpoint run"}\n'],
)
def test_another_file_is_refused_as_no_project(tmp_path, text):
    path = tmp_path / "a.fewpoint"
    path.write_text(text)
    with pytest.raises(InputError):
        read_project(path)


def test_a_project_of_a_later_format_is_refused(tmp_path):
    log = begin(tmp_path)
    log.close()
    header = json.loads(log.path.read_text().splitlines()[0])
    log.path.write_text(json.dumps({**header, "version": 2}) + "\n")
    with pytest.raises(InputError, match="another version of fewpoint"):
        read_project(log.path)


@pytest.mark.parametrize(
    "line",
    [
        {"action": None},
        {"action": {"kind": "add_point"}},
        {"action": {"kind": "brush", "object": "object", "frame": 0, "runs": [[1]]}},
        {"action": {"kind": "brush", "object": "object", "frame": 0, "runs": [[0, 10**30]]}},
        {"action": {"kind": ["undo"]}},
        {"run": None},
        {"run": {"id": "one", "version": 1}},
        {"run": {"id": 1, "version": 1, "objects": 3}},
        {"look": {"low": "dark"}},
        {"choice": {"run": None}},
        {"review": {"verdict": "maybe", "by": "", "version": 1}},
    ],
    ids=json.dumps,
)
def test_a_line_that_was_changed_is_refused_by_its_number(tmp_path, line):
    log = begin(tmp_path)
    log.close()
    with log.path.open("a") as file:
        file.write(json.dumps(line) + "\n" + json.dumps({"look": {}}) + "\n")
    with pytest.raises(InputError, match=r"frames\.fewpoint"):
        read_project(log.path)


def test_the_memory_of_a_history_grows_with_its_clicks_and_not_with_their_square():
    def count_kept(clicks: int) -> int:
        history = History(Project((4, 100, 100)))
        for number in range(clicks):
            history.do(AddPoint("object", 0, *divmod(number, 100)))
        return sum(len(state.objects[0].points) for state in history._states.values())

    assert count_kept(4000) < 3 * count_kept(2000) < 3 * (LAST_STATES + 2 * FAR_STATES) * 2000


STEPS = st.one_of(
    st.builds(AddPoint, st.just("object"), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.booleans()),
    st.builds(actions.RemovePoint, st.integers(1, 12)),
    st.builds(actions.MarkAbsent, st.just("object"), st.integers(0, 3), st.booleans()),
    st.builds(actions.MovePoint, st.integers(1, 12), st.integers(0, 3), st.integers(0, 3)),
    st.builds(actions.SetBox, st.just("object"), st.integers(0, 3), *map(st.just, (1, 1)), *[st.integers(2, 6)] * 2),
    st.builds(actions.ClearBox, st.just("object"), st.none() | st.integers(0, 3)),
    st.builds(actions.SetSize, st.just("object"), st.none() | st.floats(0.05, 20), st.none() | st.integers(0, 3)),
    st.builds(actions.Brush, st.just("object"), st.integers(0, 3), st.sampled_from([(), ((0, 5),), ((3, 2), (9, 40))])),
    st.just(Undo()),
    st.just(Redo()),
)


class SlowHistory:
    """Everything is done again from the beginning after every deed."""

    def __init__(self) -> None:
        self.done, self.undone, self.version = [], [], 0

    @property
    def project(self) -> Project:
        project = Project(SHAPE)
        for action, _, number in self.done:
            try:
                project = apply_action(action, project, number)
            except InputError:
                continue
        return project

    def do(self, action, by) -> None:
        if isinstance(action, Undo | Redo):
            source, target = (self.done, self.undone) if isinstance(action, Undo) else (self.undone, self.done)
            deed = next((each for each in reversed(source) if each[1] == by), None)
            if deed is None:
                raise InputError("nothing")
            if isinstance(action, Redo):
                apply_action(deed[0], self.project, deed[2])
            source.remove(deed)
        else:
            deed, target = (action, by, self.version + 1), self.done
            apply_action(action, self.project, self.version + 1)
            self.undone = [each for each in self.undone if each[1] != by]
        target.append(deed)
        self.version += 1


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_history_that_keeps_few_states_is_as_one_that_does_all_again(monkeypatch, data):
    monkeypatch.setattr(projects, "LAST_STATES", data.draw(st.integers(1, 3)))
    monkeypatch.setattr(projects, "FAR_STATES", data.draw(st.integers(1, 3)))
    fast, slow = History(Project(SHAPE)), SlowHistory()
    for step, by in data.draw(st.lists(st.tuples(STEPS, st.sampled_from(["a.x/1", "b.y/1"])), max_size=40)):
        refused = []
        for history in (fast, slow):
            try:
                history.do(step, by)
            except InputError:
                refused.append(history)
        assert refused in ([], [fast, slow])
        assert fast.project == slow.project and fast.version == slow.version


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=15))
def test_replaying_the_log_gives_the_project_that_was_left(tmp_path_factory, steps):
    log = begin(tmp_path_factory.mktemp("project"))
    for step in steps:
        try:
            log.do(step)
        except InputError:
            continue
    log.close()
    again = read_project(log.path)
    assert again.project == log.project and again.history.version == log.history.version


def test_an_undo_takes_back_what_the_same_person_did_and_keeps_what_others_did_since(tmp_path):
    log = begin(tmp_path)
    for by, x in (("a/1", 1), ("b/1", 2), ("a/1", 3), ("b/1", 4)):
        log.do(AddPoint("object", 0, 5, x), by)
    log.do(Undo(), "a/1")
    log.do(Undo(), "a/1")
    assert [click.x for click in log.project.objects[0].points] == [2, 4]
    assert log.history.undoers == ("b/1",) and log.history.redoers == ("a/1",)
    with pytest.raises(InputError, match="nothing to undo that you did"):
        log.do(Undo(), "a/1")
    log.do(Redo(), "a/1")
    again = read_project(log.path)
    assert [click.x for click in again.project.objects[0].points] == [2, 4, 1]
    # What rested on something that was taken back has no effect any more, and has it again with a redo.
    number = again.project.objects[0].points[0].id
    log.do(MovePoint(number, 9, 9), "a/1")
    log.do(Undo(), "b/1")
    log.do(Undo(), "b/1")
    assert [click.x for click in log.project.objects[0].points] == [1]
    log.close()
