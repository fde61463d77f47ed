"""Nobody comes in who should not."""

import hmac
import socket

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from fewpoint.web import guard
from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from web.visits import ADDRESS, make_options, open_frames, watch

GATE = Gate.for_host("0.0.0.0")
BEARER = {"Authorization": f"Bearer {GATE.token}"}


@pytest.fixture
def guarded(root):
    """A server that other machines can reach."""
    with TestClient(create_app(make_options(root, gate=GATE)), base_url="http://10.1.2.3:8760") as client:
        yield client


def test_a_token_is_always_asked_for_on_this_machine_too():
    assert len(Gate.for_host("127.0.0.1").token) >= 40
    assert Gate.for_host("::1", "chosen").token == "chosen"
    assert len(Gate.for_host("0.0.0.0").token) >= 40
    assert Gate.for_host("0.0.0.0").token != GATE.token


@pytest.mark.parametrize("path", ["/", "/api/health", "/api/projects", "/api/openapi.json", "/static/types.js", "/no"])
def test_every_address_needs_the_token(guarded, path):
    assert guarded.get(path).status_code == 401
    assert guarded.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert guarded.get(path, headers=BEARER).status_code in (200, 404)


def test_the_token_in_an_address_is_taken_for_the_page_alone(guarded):
    assert guarded.get(f"/api/health?token={GATE.token}").status_code == 401


def test_the_page_turns_the_token_of_its_address_into_a_cookie_of_its_own(guarded):
    answer = guarded.get(f"/?token={GATE.token}")
    assert (answer.status_code, "url=/" in answer.text, GATE.token in answer.text) == (200, True, False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert "fewpoint_token_8760=" in cookie  # a browser sends cookies to all ports of a machine
    assert guarded.get("/api/health").status_code == 200  # the client kept the cookie
    assert guarded.get("/api/health", headers={"Host": "10.1.2.3:8761"}).status_code == 401


def test_a_wrong_token_gets_no_cookie(guarded):
    answer = guarded.get("/?token=wrong", follow_redirects=False)
    assert answer.status_code == 401 and "set-cookie" not in answer.headers


def test_a_socket_needs_the_token(guarded):
    project = guarded.post("/api/projects", json={"input": "frames"}, headers=BEARER).json()["id"]
    with pytest.raises(WebSocketDisconnect), watch(guarded, project):
        pass
    with pytest.raises(WebSocketDisconnect), watch(guarded, project, Authorization="Bearer wrong"):
        pass
    with watch(guarded, project, **BEARER) as watching:
        assert watching.receive_json()["kind"] == "hello"


def test_only_so_many_sockets_are_open_at_once(client, monkeypatch):
    project = open_frames(client)["id"]
    monkeypatch.setattr(guard, "MOST_SOCKETS", 2)
    with watch(client, project), watch(client, project):
        with pytest.raises(WebSocketDisconnect) as closed, watch(client, project):
            pass
        assert closed.value.code == guard.TRY_LATER
    with watch(client, project) as again:
        assert again.receive_json()["kind"] == "hello"


def test_tokens_are_compared_in_constant_time(monkeypatch):
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(guard.hmac, "compare_digest", lambda *pair: compared.append(pair) or real(*pair))
    assert GATE.knows(GATE.token) and not GATE.knows("wrong") and not GATE.knows(None) and not GATE.knows("\udcff")
    assert len(compared) == 4


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8760", "127.0.0.1.evil.example", "192.168.1.5", ""])
def test_a_name_that_another_site_points_here_is_refused(client, host):
    assert client.get("/api/health", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:9999", "127.0.0.1", "127.0.0.1:8760", "[::1]:8760"])
def test_this_machine_may_be_named_as_it_is_by_any_port_of_a_tunnel(client, host):
    assert client.get("/api/health", headers={"Host": host}).status_code == 200


def test_on_a_network_only_addresses_in_numbers_and_the_own_name_are_taken(guarded):
    for host, status in {"evil.example": 403, "10.1.2.3": 200, socket.gethostname(): 200, "localhost": 200}.items():
        assert guarded.get("/api/health", headers={**BEARER, "Host": host}).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
    ids=str,
)
def test_another_site_can_neither_read_nor_post(client, headers):
    assert client.get("/api/health", headers=headers).status_code == 403
    assert client.post("/api/projects", json={"input": "frames"}, headers=headers).status_code == 403


def test_a_socket_from_another_site_is_refused(client):
    project = open_frames(client)["id"]
    with watch(client, project, Origin=ADDRESS) as watching:
        assert watching.receive_json()["kind"] == "hello"
    with pytest.raises(WebSocketDisconnect), watch(client, project, Origin="http://evil.example"):
        pass


def test_our_own_page_and_scripts_may_do_all(client):
    for headers in ({"Origin": ADDRESS}, {"Sec-Fetch-Site": "same-origin"}, {}):
        assert client.post("/api/projects", json={"input": "frames"}, headers=headers).status_code == 200


def test_a_link_from_elsewhere_may_lead_to_the_page(client):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=headers).status_code in (200, 404)


@pytest.mark.parametrize("path", ["/api/health", "/static/none.js", "/nothing", "/api/files?path=../.."])
def test_every_answer_carries_a_strict_policy(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(client):
    project = open_frames(client)["id"]
    answer = client.post(f"/api/projects/{project}/actions", content=b"0" * (guard.LARGEST_BODY + 1))
    assert answer.status_code == 413


def test_a_body_that_does_not_say_its_size_is_cut_off_when_it_grows_too_large(client):
    pieces = (b"0" * 2**20 for _ in range(guard.LARGEST_BODY // 2**20 + 1))
    assert client.post("/api/projects", content=pieces).status_code == 413


def test_a_length_that_is_no_number_is_refused(client):
    answer = client.post("/api/projects", content=b"{}", headers={"Content-Length": "-1"})
    assert answer.status_code == 413
