"""What the module says when a server refuses, is another, or is not there."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from FewpointLib.connection import Connection, LostError, ServerError, find_key
from FewpointLib.study import open_study

from fewpoint.web import keys
from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from integrations.slicer.conftest import TOKEN
from integrations.slicer.phantoms import VOLUME, finish
from web.visits import make_options, make_root, serve_in_thread


def test_the_token_is_taken_from_the_address_the_field_or_the_servers_own_file(server, monkeypatch, tmp_path):
    plain = server.partition("/?")[0]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert Connection(server).get("/health")["version"]
    assert Connection(plain.removeprefix("http://"), f" {TOKEN} ").get("/health")["version"]
    with pytest.raises(ServerError, match="token is needed") as caught:
        Connection(plain).get("/health")
    assert caught.value.status == 401
    port = int(plain.rpartition(":")[2])
    keys.keep_key(port, TOKEN)
    assert find_key("127.0.0.1", port) == TOKEN and find_key("example.org", port) == ""
    assert Connection(plain).get("/health")["version"]


@pytest.mark.parametrize("address", ["", "ftp://host", "http://", "http://host:port"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ServerError, match="must be like http://"):
        Connection(address)


def test_a_server_that_is_not_there_is_lost_and_not_refused():
    with pytest.raises(LostError, match="start fewpoint annotate"):
        Connection("http://127.0.0.1:9").get("/health")
    with pytest.raises(LostError, match="start fewpoint annotate"):
        finish(Connection("http://127.0.0.1:9").send("a.nrrd", [b"a"]))


def test_a_volume_larger_than_the_server_takes_is_refused_in_its_words(tmp_path):
    gate = Gate.for_host("127.0.0.1", TOKEN, largest_upload=1000)
    with serve_in_thread(create_app(make_options(make_root(tmp_path / "root"), gate=gate))) as address:
        with pytest.raises(ServerError) as caught:
            finish(open_study(Connection(address, TOKEN), VOLUME))
        assert caught.value.status == 413


class Stranger(BaseHTTPRequestHandler):
    """Some other server; its path says what it answers."""

    def do_GET(self) -> None:
        status = 503 if "busy" in self.path else 200
        self.send_response(status)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"<htm>")

    def log_message(self, *given) -> None:
        pass


def test_another_server_is_told_from_fewpoint_and_from_a_proxy_without_one():
    stranger = HTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=stranger.serve_forever)
    thread.start()
    try:
        connection = Connection(f"http://127.0.0.1:{stranger.server_port}")
        with pytest.raises(ServerError, match="is not fewpoint"):
            connection.get("/health")
        with pytest.raises(LostError, match="answered 503"):
            connection.get("/busy")
    finally:
        stranger.shutdown()
        thread.join()
        stranger.server_close()
