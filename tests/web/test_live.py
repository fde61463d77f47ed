"""The process that answers at once: orders in, masks out, whatever is sent; and how the server keeps it."""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import PointSet, Words
from fewpoint.core.job import PlainPoints
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.superpixels.intensity import IntensityWindow
from fewpoint.web import live
from fewpoint.web.clips import choose_frames, read_clip, write_clip
from fewpoint.web.events import Answered, LiveNews, Prepared, Refused
from fewpoint.web.live import LiveProcess, Place
from fewpoint.web.live_worker import Answerer, Mailbox, answer_all, glance, glance_until
from fewpoint.web.orders import LiveOrder, shown_folder
from fewpoint.web.shown import read_plane, read_view

SIZE = (48, 40)
PATIENCE_S = 180.0  # of a busy machine
POINTS = PointSet.from_rows([(0, 5, 6), (2, 20, 30)], objects=["a", "b"])


class Squares:
    """Stands for masks at once: each object is the pixels that were clicked, on every frame."""

    def __init__(self) -> None:
        self.rough = True
        self.asked: list[PointSet] = []

    def take(self, run: Path) -> None:
        if run.name == "broken":
            raise OSError("no such file")
        self.rough = False

    def settle(self, points: PointSet, words: dict[str, Words], known=None) -> "Found":
        self.asked.append(points)
        self.known = known
        if words["a"].size == 13:
            raise ZeroDivisionError("of all things")
        masks = {name: np.zeros((6, *SIZE), bool) for name in points.object_names}
        for (_, y, x), name in zip(points.coordinates.tolist(), points.objects, strict=True):
            masks[name][:, y, x] = True
        return Found(masks)


class Found:
    def __init__(self, masks: dict[str, np.ndarray]) -> None:
        self._masks = masks

    def on_frame(self, frame: int) -> dict[str, np.ndarray]:
        return {name: each[frame] for name, each in self._masks.items()}

    def all(self) -> dict[str, np.ndarray]:
        return self._masks


def make_order(number: int = 1, run: str | None = None, size: float = 1.0, points: PointSet = POINTS) -> LiveOrder:
    words = {"a": Words(size=size), "b": Words()}
    return LiveOrder(number, 10 + number, run, PlainPoints.of(points), words, {"a": 0, "b": 7})


def line_of(order: LiveOrder) -> str:
    return json.dumps(order.as_table())


@pytest.fixture
def answerer(tmp_path) -> Answerer:
    return Answerer(Squares(), tmp_path)


def answer(answerer: Answerer, line: str) -> LiveNews:
    """The only news about an order that nobody looks at a frame of."""
    (news,) = answerer.answer(line)
    return news


def test_an_order_survives_the_way_to_the_process():
    order = replace(make_order(run="runs/1/result", size=1.5), view=3)
    assert LiveOrder.from_table(json.loads(line_of(order))) == order


def test_masks_of_the_objects_that_are_asked_for_are_left_for_the_page(answerer, tmp_path):
    news = answer(answerer, line_of(make_order(3)))
    assert isinstance(news, Answered)
    assert (news.number, news.version, news.objects, news.rough) == (3, 13, [0, 7], True)
    for number, place in ((0, (5, 6)), (7, (20, 30))):
        mask = read_plane(shown_folder(tmp_path, number) / "masks.npy", 0, 4, SIZE)
        assert mask is not None and np.argwhere(mask).tolist() == [list(place)]


def test_a_finished_run_is_taken_once_and_answers_are_no_longer_rough(answerer):
    assert answer(answerer, line_of(make_order(1))).rough
    assert not answer(answerer, line_of(make_order(2, run="1/result"))).rough


def test_a_run_that_cannot_be_taken_leaves_answers_as_they_were_and_says_why(answerer):
    news = answer(answerer, line_of(make_order(run="broken")))
    assert isinstance(news, Answered) and news.rough and "no such file" in news.note
    assert answer(answerer, line_of(make_order(run="broken"))).note == ""


@pytest.mark.parametrize("line", ["", "rubbish", "[]", "{}", '{"number": 4}', "null", '{"number": "x", "job": {}}'])
def test_rubbish_is_refused_in_one_line_and_the_next_order_is_answered(answerer, line):
    news = answer(answerer, line)
    assert isinstance(news, Refused) and news.error and "\n" not in news.error
    assert isinstance(answer(answerer, line_of(make_order())), Answered)


def test_an_answer_that_fails_is_one_line_with_its_cause(answerer, capsys):
    news = answer(answerer, line_of(make_order(5, size=13)))
    assert news == Refused(number=5, error="no live preview: ZeroDivisionError: of all things")
    assert "Traceback" in capsys.readouterr().err


def test_of_several_orders_that_wait_only_the_last_is_answered(tmp_path):
    mailbox, squares, said = Mailbox(), Squares(), []
    mailbox.fill(line_of(make_order(number)) for number in (1, 2, 3))
    answer_all(mailbox, Answerer(squares, tmp_path), said.append)
    assert [news.number for news in said] == [3] and len(squares.asked) == 1


def test_an_order_that_comes_during_an_answer_is_answered_next(tmp_path):
    mailbox, said = Mailbox(), []

    def say(news) -> None:
        said.append(news.number)
        if news.number == 1:
            mailbox.fill(line_of(make_order(number)) for number in (2, 3))

    threading.Timer(0.1, mailbox.fill, [[line_of(make_order(1))]]).start()
    answer_all(mailbox, Answerer(Squares(), tmp_path), say)
    assert said == [1, 3]


def test_what_a_stopped_run_had_found_is_known_until_a_run_has_finished(tmp_path):
    squares, stopped = Squares(), tmp_path / "1"
    answerer = Answerer(squares, tmp_path)
    shown_folder(stopped, 7).mkdir(parents=True)
    np.save(shown_folder(stopped, 7) / "probabilities.npy", np.full((6, *SIZE), 200, np.uint8))
    answer(answerer, line_of(replace(make_order(1), stopped=str(stopped))))
    assert list(squares.known) == ["b"] and (squares.known["b"] == 200).all()
    answer(answerer, line_of(replace(make_order(2, run="2/result"), stopped=str(stopped))))
    assert squares.known == {}


# The frame in view.


def read_masks(folder: Path, number: int) -> list[np.ndarray | None]:
    return [read_plane(shown_folder(folder, number) / "masks.npy", 0, frame, SIZE) for frame in range(6)]


def test_the_frame_in_view_is_answered_before_all_and_both_are_alike(answerer, tmp_path):
    news = answerer.answer(line_of(replace(make_order(3), view=4)))
    first = next(news)
    assert isinstance(first, Answered)
    assert (first.number, first.version, first.objects, first.partly, first.view) == (3, 13, [0, 7], True, 4)
    seen = {number: read_view(shown_folder(tmp_path, number), 4, SIZE) for number in (0, 7)}
    assert np.argwhere(seen[7]).tolist() == [[20, 30]]
    assert not (shown_folder(tmp_path, 0) / "masks.npy").exists()
    (last,) = news
    assert isinstance(last, Answered)
    assert (last.number, last.objects, last.partly, last.view) == (3, [0, 7], False, None)
    assert last.seconds >= first.seconds
    for number, mask in seen.items():
        assert read_view(shown_folder(tmp_path, number), 4, SIZE) is None
        np.testing.assert_array_equal(read_masks(tmp_path, number)[4], mask)


def test_what_was_answered_on_all_frames_stays_until_all_are_answered_anew(answerer, tmp_path):
    answer(answerer, line_of(make_order(1)))
    before = read_masks(tmp_path, 0)
    moved = PointSet.from_rows([(0, 9, 9), (2, 20, 30)], objects=["a", "b"])
    next(answerer.answer(line_of(replace(make_order(2, points=moved), view=2))))
    for one, other in zip(read_masks(tmp_path, 0), before, strict=True):
        np.testing.assert_array_equal(one, other)
    seen = read_view(shown_folder(tmp_path, 0), 2, SIZE)
    assert seen is not None and np.argwhere(seen).tolist() == [[9, 9]]


def test_an_order_that_comes_after_the_frame_in_view_takes_the_place_of_all_others(tmp_path):
    mailbox, said = Mailbox(), []

    def say(news) -> None:
        said.append((news.number, news.view))
        if said == [(1, 2)]:
            mailbox.fill(line_of(replace(make_order(number), view=5)) for number in (2, 3))

    mailbox.put_back(line_of(replace(make_order(1), view=2)))
    answer_all(mailbox, Answerer(Squares(), tmp_path), say)
    assert said == [(1, 2), (3, 5), (3, None)]


def test_a_view_of_a_frame_that_is_not_there_is_refused_and_the_next_order_answered(answerer):
    (news,) = answerer.answer(line_of(replace(make_order(), view=99)))
    assert isinstance(news, Refused)
    assert isinstance(answer(answerer, line_of(make_order())), Answered)


# Before all frames are read.


@pytest.fixture
def clip(tmp_path) -> Path:
    """Frames 17 to 22 of 40."""
    frames = make_phantom(n_frames=6, size=SIZE).sequence.frames
    window = IntensityWindow(np.zeros(1), np.full(1, 255.0))
    write_clip(frames, window, (17, 40), tmp_path / "clip.npz")
    return tmp_path / "clip.npz"


def order_clip(clip: Path | str, frame: int = 19) -> str:
    """An order with a click on the object on a frame of a clip, and on another one outside."""
    y, x = make_phantom(n_frames=6, size=SIZE).points.coordinates[2, 1:].tolist()
    points = PlainPoints.of(PointSet.from_rows([(3, 1, 1), (frame, y, x)], objects=["b", "a"]))
    order = LiveOrder(4, 9, None, points, {"a": Words(), "b": Words()}, {"a": 0, "b": 7}, frame, str(clip))
    return line_of(order)


def test_a_clip_is_read_as_it_was_written_as_brightness(clip):
    found = read_clip(clip)
    assert (found.first, found.end, found.total) == (17, 23, 40)
    expected = make_phantom(n_frames=6, size=SIZE).sequence.frames / np.float32(255)
    np.testing.assert_allclose(found.sequence.frames, expected, atol=1e-6)
    assert [choose_frames(frame, 12) for frame in (0, 6, 11)] == [range(5), range(2, 11), range(7, 12)]


def test_an_order_with_a_clip_is_answered_for_its_frames_alone(clip, tmp_path):
    news = glance(order_clip(clip), tmp_path)
    assert isinstance(news, Answered) and news.partly and news.rough
    assert (news.number, news.version, news.objects) == (4, 9, [0])
    shown = shown_folder(tmp_path, 0) / "masks.npy"
    truth = make_phantom(n_frames=6, size=SIZE).truth
    masks = np.stack([read_plane(shown, 0, frame, SIZE) for frame in range(40)])
    assert not np.delete(masks, range(17, 23), axis=0).any()
    assert 2 * (masks[17:23] & truth).sum() / (masks.sum() + truth.sum()) > 0.5


def test_an_order_without_a_clip_or_without_a_click_on_it_waits_for_the_whole_answer(clip, tmp_path):
    assert glance(order_clip(""), tmp_path) is None
    assert glance(order_clip(clip, frame=30), tmp_path) is None
    assert glance(order_clip(tmp_path / "gone.npz"), tmp_path) is None
    assert glance("rubbish", tmp_path) is None


def test_orders_are_answered_in_part_until_all_is_prepared_and_the_last_one_again_in_whole(clip, tmp_path):
    mailbox, prepared, said, squares = Mailbox(), Future(), [], Squares()

    def say(news) -> None:
        said.append((news.number, news.partly))
        prepared.set_result(squares)

    mailbox.put_back(order_clip(clip))
    found = glance_until(prepared, mailbox, tmp_path, say)
    assert found is squares and said == [(4, True)]
    mailbox.fill([])
    answer_all(mailbox, Answerer(found, tmp_path), lambda news: said.append((news.number, news.partly)))
    assert said == [(4, True), (4, False)]


def test_what_cannot_be_prepared_ends_the_process_with_its_reason(tmp_path):
    prepared: Future = Future()
    threading.Timer(0.1, prepared.set_exception, [OSError("no such file")]).start()
    with pytest.raises(OSError, match="no such file"):
        glance_until(prepared, Mailbox(), tmp_path, print)


@pytest.fixture
def talk(root, tmp_path):
    """The process itself, on the frames of a phantom."""
    setting = json.dumps({"input": str(root / "frames"), "folder": str(tmp_path / "live")})
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(live.COMMAND, text=True, **pipes) as process:

        def talk(line: str) -> dict:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        assert talk(setting)["kind"] == "prepared"
        yield talk
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 0


def test_the_process_answers_survives_rubbish_and_ends_with_the_server(talk, tmp_path):
    frame, y, x = make_phantom(n_frames=6, size=SIZE).points.coordinates.tolist()[2]
    points = PlainPoints.of(PointSet.from_rows([(frame, y, x)], objects=["a"]))
    order = line_of(LiveOrder(1, 1, None, points, {"a": Words()}, {"a": 0}))
    assert talk(order)["rough"]
    assert talk("rubbish")["kind"] == "refused"
    outside = PlainPoints.of(PointSet.from_rows([(99, 0, 0)], objects=["a"]))
    talk(line_of(LiveOrder(2, 2, None, outside, {"a": Words()}, {"a": 0})))
    assert talk(order)["kind"] == "answered"
    mask = read_plane(shown_folder(tmp_path / "live", 0) / "masks.npy", 0, frame, SIZE)
    assert mask is not None and mask[y, x]


def test_the_process_does_not_load_torch():
    code = "import sys, fewpoint.web.live_worker; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Says that it is ready, dies of the first order that it ever gets, and answers those after.
MORTAL = """
import json, pathlib, sys
folder = pathlib.Path(json.loads(sys.stdin.readline())["folder"]).parent
starts = len(list(folder.glob("start-*")))
(folder / f"start-{starts}").touch()
print('{"kind": "prepared", "seconds": 0}', flush=True)
for line in sys.stdin:
    if starts < int(sys.argv[1]):
        sys.exit("it was too much")
    number = json.loads(line)["number"]
    print(json.dumps({"kind": "answered", "number": number, "version": 0, "objects": [], "rough": True, "seconds": 0}))
    sys.stdout.flush()
"""


class Kept:
    """What a server hears of a process."""

    def __init__(self, folder: Path, clip=None) -> None:
        self.news, self.reasons = [], []
        self.process = LiveProcess(Place("frames", folder / "live"), self.news.append, self.reasons.append, clip)

    def wait(self, holds) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, f"waited in vain: {self.news} {self.reasons}"
            time.sleep(0.05)


def test_a_process_that_dies_is_started_again_and_given_the_last_order(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "COMMAND", (sys.executable, "-c", MORTAL, "1"))
    kept = Kept(tmp_path)
    kept.process.ask(make_order(1))
    kept.wait(lambda: any(isinstance(news, Answered) for news in kept.news))
    kept.process.close()
    assert [type(news) for news in kept.news] == [Prepared, Prepared, Answered]
    assert kept.reasons == []


def test_a_process_that_dies_of_the_same_order_again_is_given_up_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "COMMAND", (sys.executable, "-c", MORTAL, "9"))
    kept = Kept(tmp_path)
    kept.process.ask(make_order(1))
    kept.wait(lambda: kept.reasons)
    assert kept.reasons == ["the live preview ended early: it was too much"]
    assert len(list(tmp_path.glob("start-*"))) == 2


# Says what clip each order brings, then that it is ready.
CURIOUS = """
import json, sys
sys.stdin.readline()
for line in sys.stdin:
    print(json.dumps({"kind": "refused", "number": 0, "error": json.loads(line)["clip"]}))
    print('{"kind": "prepared", "seconds": 0}', flush=True)
"""


def test_orders_bring_the_frames_near_the_last_word_until_the_process_is_ready(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "COMMAND", (sys.executable, "-c", CURIOUS))
    kept = Kept(tmp_path, lambda frame, path: path.write_text(str(frame)))
    kept.process.ask(LiveOrder(1, 1, None, PlainPoints.of(POINTS), {}, {}, frame=2))
    kept.wait(lambda: len(kept.news) == 2)
    kept.process.ask(LiveOrder(2, 1, None, PlainPoints.of(POINTS), {}, {}, frame=2))
    kept.wait(lambda: len(kept.news) == 4)
    kept.process.close()
    clip = tmp_path / "live" / live.CLIP_FILE
    assert clip.read_text() == "2"
    assert [news.error for news in kept.news if isinstance(news, Refused)] == [str(clip), ""]


def test_a_closed_process_ends_and_is_not_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "COMMAND", (sys.executable, "-c", MORTAL, "0"))
    kept = Kept(tmp_path)
    kept.wait(lambda: kept.news)
    kept.process.close()
    time.sleep(0.3)  # another one would be started at once
    assert kept.reasons == [] and len(list(tmp_path.glob("start-*"))) == 1
