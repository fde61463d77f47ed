"""The server as nnInteractive's clients meet it."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest

from fewpoint.web.guard import Gate
from fewpoint.web.remote.limits import Limits
from fewpoint.web.server import create_app
from web.remote.visitor import RefusedError, Visitor, pack
from web.visits import make_options, make_root, serve_in_thread


def measure_f1(mask: np.ndarray, truth: np.ndarray) -> float:
    return 2 * (mask.astype(bool) & truth).sum() / (mask.astype(bool).sum() + truth.sum())


def wait_until(is_so, seconds: float = 180) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, is_so
        time.sleep(0.05)


def test_clicks_bring_a_mask_that_holds_those_on_the_object_and_not_those_beside_it(visitor, scan):
    inside, outside = scan.places[2], tuple(np.argwhere(~scan.mask)[0])
    assert visitor.click(inside)
    assert visitor.mask[tuple(inside)] == 1
    assert measure_f1(visitor.mask, scan.mask) > 0.3
    assert visitor.click(outside, positive=False)
    assert visitor.mask[outside] == 0


def test_undo_brings_back_every_earlier_mask_and_says_when_there_is_none(visitor, scan):
    masks = [visitor.mask.copy()]
    for place in scan.places[:3]:
        visitor.click(place)
        masks.append(visitor.mask.copy())
    for before in masks[-2::-1]:
        assert visitor.say("/undo")
        np.testing.assert_array_equal(visitor.mask, before)
    assert not visitor.say("/undo")


def test_what_is_marked_without_asking_is_answered_when_asked_for(visitor, scan):
    assert not visitor.click(scan.places[2], run_prediction=False)
    assert not visitor.mask.any()
    assert visitor.say("/predict")
    assert visitor.mask.any()


def test_a_mark_beside_an_object_that_nobody_has_shown_brings_an_empty_mask(visitor, scan):
    assert visitor.click(scan.places[2], positive=False)
    assert not visitor.mask.any()


def test_boxes_scribbles_and_lassos_bring_masks_and_can_be_taken_back(visitor, scan):
    frame, y, x = scan.places[2]
    box = [[frame, frame + 1], [y - 8, y + 8], [x - 8, x + 8]]
    line = np.zeros((1, 3, 8), np.uint8)
    line[0, 1] = 1
    assert visitor.say("/add_bbox_interaction", bbox_coords=box, include_interaction=True)
    assert visitor.mask.any()
    visitor.reset()
    part = [[frame, frame + 1], [y - 1, y + 2], [x - 4, x + 4]]
    assert visitor.send("/add_scribble_interaction", line, include_interaction=True, interaction_bbox=part)
    assert visitor.mask[frame, y].any()
    assert visitor.say("/undo") and not visitor.mask.any()
    lasso = np.zeros(scan.mask.shape, np.uint8)
    lasso[frame] = scan.mask[frame]
    assert visitor.send("/add_lasso_interaction", lasso, include_interaction=True, interaction_bbox=None)
    assert measure_f1(visitor.mask, scan.mask) > 0.3


def test_an_axis_may_run_backwards_as_napari_opens_some_volumes(server, scan):
    backwards = Visitor(server.address)
    backwards.open(scan.image, spacing=[-2.0, -1.0, 1.0])
    assert backwards.click(scan.places[2])
    backwards.leave()


def test_a_given_mask_is_gone_on_from(visitor, scan):
    visitor.mask[:] = scan.mask
    assert not visitor.send("/add_initial_seg_interaction", scan.mask.astype(np.uint8), run_prediction=False)
    assert visitor.say("/predict")
    assert measure_f1(visitor.mask, scan.mask) > 0.9
    gone = tuple(scan.places[2])
    assert visitor.click(gone, positive=False)
    assert visitor.mask[gone] == 0


@pytest.mark.nightly
def test_masks_become_those_that_were_learnt_and_the_next_object_begins_anew(visitor, server, scan):
    visitor.click(scan.places[0])
    first = visitor.mask.copy()
    for place in scan.places[1:]:
        visitor.click(place)
    rough = visitor.mask.copy()
    session = next(iter(server.leases.workspace._sessions.values()))
    wait_until(lambda: session.find_shown() is not None)
    assert visitor.say("/predict", force_full_refine=True)
    assert session.find_shown().state == "finished"
    assert (visitor.mask != rough).any()
    visitor.reset()
    assert session.find_shown() is None
    visitor.click(scan.places[0])
    np.testing.assert_array_equal(visitor.mask, first)


@pytest.mark.nightly
def test_two_at_once_hear_each_of_their_own_image_whichever_way_its_axes_go(visitor, server, scan):
    other = Visitor(server.address)
    turned = np.ascontiguousarray(scan.image[:, ::-1].transpose(1, 2, 0)).astype(np.float16)
    other.open(turned, spacing=[1.0, 1.0, 3.0])
    frame, y, x = scan.places[2]
    both = [
        threading.Thread(target=visitor.click, args=((frame, y, x),)),
        threading.Thread(target=other.click, args=((scan.image.shape[1] - 1 - y, x, frame),)),
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
    theirs = other.mask.transpose(2, 0, 1)[:, ::-1]
    assert visitor.mask[frame, y, x] == theirs[frame, y, x] == 1
    assert measure_f1(visitor.mask, scan.mask) > 0.3 and measure_f1(theirs, scan.mask) > 0.3
    other.leave()
    with pytest.raises(RefusedError, match="410: there is no such session"):
        other.click((0, 0, 0))


def test_capabilities_say_what_holds(server):
    with urllib.request.urlopen(f"{server.address}/capabilities") as answer:
        told = json.loads(answer.read())
    assert told["supported_interactions"] == {
        "points": True,
        "bbox2d": True,
        "bbox3d": False,
        "scribble": True,
        "lasso": True,
    }
    assert told["supports_undo"] and told["supports_initial_label"] and not told["do_autozoom"]


def test_no_more_sessions_are_given_than_there_may_be_and_a_released_one_is_free_again(server):
    taken = []
    with pytest.raises(RefusedError, match="503: all 3 sessions") as refused:
        for _ in range(4):
            taken.append(Visitor(server.address))
    assert refused.value.status == 503
    for each in taken:
        each.leave()
        each.leave()
    Visitor(server.address).leave()


BAD_JSON = [
    ("/add_point_interaction", {"coordinates": [0, 0]}, "three finite numbers"),
    ("/add_point_interaction", {"coordinates": [0, 99, 0]}, "inside the image"),
    ("/add_point_interaction", {"coordinates": [float("nan"), 0, 0]}, "three finite numbers"),
    ("/add_point_interaction", {"coordinates": ["here", 0, 0]}, "coordinates"),
    ("/add_point_interaction", {}, "coordinates"),
    ("/add_bbox_interaction", {"bbox_coords": [[0, 5], [0, 5], [0, 5]]}, "on one slice"),
    ("/add_bbox_interaction", {"bbox_coords": [[0, 1], [0, 5], [90, 95]]}, "hold a voxel"),
    ("/set_target_buffer", {"shape": [1, 2, 3]}, r"the shape \(6, 48, 40\)"),
    ("/set_target_buffer", {"shape": "large"}, "shape"),
]


@pytest.mark.parametrize(("path", "fields", "told"), BAD_JSON)
def test_rubbish_is_told_in_one_line_and_changes_nothing(visitor, scan, path, fields, told):
    with pytest.raises(RefusedError, match=told) as refused:
        visitor.say(path, **fields)
    assert refused.value.status == 422
    assert "\n" not in refused.value.detail
    assert not visitor.say("/undo")


BAD_ARRAYS = [
    ("/add_scribble_interaction", pack(np.ones((2, 2, 2), np.uint8)), {}, "must have the shape"),
    ("/add_scribble_interaction", pack(np.zeros((6, 48, 40), np.uint8)), {}, "this one is empty"),
    ("/add_lasso_interaction", pack(np.full((6, 48, 40), np.nan)), {}, "finite"),
    ("/add_lasso_interaction", pack(np.ones((60, 480, 40), np.uint8)), {}, "may have 92160 bytes"),
    ("/add_initial_seg_interaction", pack(np.ones((6, 48), np.uint8)), {}, "must have the shape"),
    ("/add_initial_seg_interaction", b"rubbish", {}, "header is cut off"),
    ("/set_image", b"", {}, "header is cut off"),
    ("/set_image", pack(np.ones((1, 6, 48, 40), np.int16))[:-9], {}, "cut off or damaged"),
    ("/set_image", pack(np.ones((6, 48, 40), np.int16)), {}, "a single channel"),
    ("/set_image", pack(np.ones((3, 6, 48, 40), np.int16)), {}, "a single channel"),
    ("/set_image", pack(np.full((1, 6, 48, 40), np.nan)), {}, "finite values"),
    ("/set_image", pack(np.ones((1, 2, 2, 2), np.int16)), {"image_properties": {"spacing": [0, 1, 1]}}, "other than 0"),
    ("/set_image", pack(np.ones((1, 2, 2, 2), np.int16)), {"image_properties": {"spacing": [1, 1]}}, "other than 0"),
    ("/set_image", pack(np.ones((1, 2, 2, 2), np.int16)), {"image_properties": 5}, "must be JSON"),
    (
        "/set_image",
        pack(np.ones((1, 1, 1, 1), np.int16)).replace(
            np.array([1, 1, 1, 1]).tobytes(), np.array([1, 2**20, 2**20, 2**20]).tobytes()
        ),
        {},
        "may have 8 GiB",
    ),
]


@pytest.mark.parametrize(("path", "body", "meta", "told"), BAD_ARRAYS)
def test_a_bad_array_is_told_in_one_line_and_leaves_the_image_as_it_was(visitor, server, path, body, meta, told):
    with pytest.raises(RefusedError, match=told) as refused:
        visitor.post(path, body, meta)
    assert refused.value.status == 422
    assert "\n" not in refused.value.detail and str(server.leases.folder) not in refused.value.detail
    assert not visitor.say("/undo")
    assert not list(server.leases.folder.rglob("sent-*"))


def test_a_header_that_is_too_long_is_refused(visitor):
    with pytest.raises(RefusedError, match="may have 8192 characters"):
        visitor.post("/set_image", b"", {"image_properties": {"name": "x" * 9000}})


def test_nothing_can_be_marked_without_an_image_or_a_session(server, scan):
    bare = Visitor(server.address)
    bare.mask = np.zeros(scan.image.shape, np.uint8)
    bare.reset()  # as napari does before it sends anything
    with pytest.raises(RefusedError, match="422: there is no image in this session yet"):
        bare.click((0, 0, 0))
    bare.leave()
    bare.headers["X-Lease-Token"] = "made up"
    for path in ("/heartbeat", "/set_image", "/undo", "/add_lasso_interaction"):
        with pytest.raises(RefusedError) as refused:
            bare.post(path)
        assert refused.value.status == 410


def test_a_client_that_goes_away_in_the_middle_leaves_nothing_behind(visitor, server, scan):
    body = pack(scan.image[np.newaxis])
    place = urlsplit(server.address)
    for sent in (body[:5], body[: len(body) // 2]):
        with socket.create_connection((place.hostname, place.port)) as line:
            head = f"POST /set_image HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n"
            line.sendall(f"{head}X-Lease-Token: {visitor.headers['X-Lease-Token']}\r\n\r\n".encode() + sent)
    order = json.dumps({"coordinates": scan.places[2]}).encode()
    with socket.create_connection((place.hostname, place.port)) as line:  # does not wait for its answer
        head = f"POST /add_point_interaction HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(order)}\r\nX-Lease-Token: {visitor.headers['X-Lease-Token']}\r\n\r\n"
        line.sendall(head.encode() + order)
    wait_until(lambda: not list(server.leases.folder.rglob("sent-*")))
    assert visitor.click(scan.places[3])
    assert visitor.mask[tuple(scan.places[3])] == 1


def test_an_answer_that_was_lost_is_made_up_for_by_the_next(visitor, scan):
    visitor.click(scan.places[2])
    shown = visitor.mask.copy()
    visitor.click(scan.places[4], positive=False)  # of this the client is to know nothing
    visitor.mask[:] = shown
    visitor.say("/undo")
    np.testing.assert_array_equal(visitor.mask, shown)


@pytest.mark.nightly
def test_a_session_left_alone_is_ended_and_its_room_returned(tmp_path, scan):
    limits = Limits(alive_s=1.0, idle_s=600)
    app = create_app(make_options(make_root(tmp_path / "root"), live=True, remote=limits))
    with serve_in_thread(app) as address:
        visitor = Visitor(address)
        visitor.open(scan.image)
        folder = app.state.leases.folder
        assert len(list(folder.glob("session-*/image-1.nii*"))) >= 2
        assert folder.stat().st_mode & 0o077 == 0
        wait_until(lambda: not list(folder.glob("session-*")))
        with pytest.raises(RefusedError, match="connect again") as refused:
            visitor.post("/heartbeat")
        assert refused.value.status == 410
        assert not app.state.leases.workspace._sessions


def test_nobody_else_finds_what_a_client_has_sent(visitor, server, scan):
    visitor.click(scan.places[2])
    number = next(iter(server.leases.workspace._sessions))
    with urllib.request.urlopen(f"{server.address}/api/projects") as answer:
        assert json.loads(answer.read()) == []
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{server.address}/api/projects/{number}")


def test_a_session_that_ends_lets_go_of_who_waits_for_its_mask(server, scan, monkeypatch):
    monkeypatch.setattr("fewpoint.web.remote.works.Work._has_answered", lambda work, order: False)
    visitor, heard = Visitor(server.address), []
    visitor.open(scan.image)

    def wait() -> None:
        with pytest.raises(RefusedError) as refused:
            visitor.click(scan.places[2])
        heard.append(refused.value.status)

    waiting = threading.Thread(target=wait)
    waiting.start()
    lease = server.leases.find(visitor.headers["X-Lease-Token"])
    wait_until(lambda: lease.work.session.project.clicked)
    visitor.leave()
    waiting.join(180)
    assert heard == [410]


def test_a_sign_of_life_keeps_a_session_but_does_not_count_as_work(server):
    visitor = Visitor(server.address)
    before = json.loads(visitor.post("/heartbeat")[0])["remaining_seconds"]
    time.sleep(0.05)
    assert json.loads(visitor.post("/heartbeat")[0])["remaining_seconds"] < before
    visitor.leave()


def test_what_a_server_that_was_killed_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / "kept" / "remote" / "server-old"
    left.mkdir(parents=True)
    (left / "image-1.nii").write_bytes(b"of a patient")
    options = make_options(make_root(tmp_path / "root"), live=True, remote=Limits())
    with serve_in_thread(create_app(options)) as address:
        assert not left.exists()
        assert Visitor(address).claimed["liveness_timeout_seconds"] == 60
    assert not list((tmp_path / "kept" / "remote").iterdir())


def test_the_guard_asks_clients_for_the_token_as_their_key_and_no_page_is_served(tmp_path):
    options = make_options(make_root(tmp_path / "root"), live=True, remote=Limits())
    app = create_app(replace(options, gate=Gate.for_host("127.0.0.1", "a-key")))
    with serve_in_thread(app) as address:
        with pytest.raises(RefusedError, match="401: a token is needed"):
            Visitor(address)
        visitor = Visitor(address, "a-key")
        with pytest.raises(RefusedError, match="403: wrong Host header"):
            visitor.post("/heartbeat", Host="elsewhere.example")
        with pytest.raises(RefusedError, match="413: at most"):
            visitor.post("/add_point_interaction", **{"Content-Length": str(17 * 2**20)})
        key = {"Authorization": "Bearer a-key"}
        with urllib.request.urlopen(urllib.request.Request(f"{address}/api/health", headers=key)) as answer:
            assert json.loads(answer.read())["version"]
        for path in ("/", "/static/app.js"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(urllib.request.Request(address + path, headers=key))
