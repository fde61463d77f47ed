"""A PACS that answers, and one that is broken, slow or hostile: always within limits, always one line."""

import json
import threading
import time
from dataclasses import replace

import pytest

from dicom_series import SERIES, STUDY, save_two_series
from fewpoint.errors import FewpointError, InputError, OutputError
from fewpoint.io.pacs import service, talking
from fewpoint.io.pacs.addresses import SeriesAddress, ServiceAddress
from fewpoint.io.pacs.service import Pacs
from fewpoint.io.pacs.talking import Limits
from pacs_servers import FakePacs, fake_pacs


@pytest.fixture
def server(tmp_path):
    with fake_pacs() as held:
        held.keep(save_two_series(tmp_path / "series"))
        yield held


def series_of(server: FakePacs) -> SeriesAddress:
    return SeriesAddress(server.pacs.address, STUDY, SERIES)


def test_studies_and_their_series_are_listed(server):
    (study,) = server.pacs.list_studies()
    assert (study.uid, study.patient, study.date) == (STUDY, "P1", "20260101")
    found = [(each.uid[-4:], each.description, each.modality, each.images) for each in server.pacs.list_series(STUDY)]
    assert found == [("4001", "arterial", "CT", 3), ("4002", "venous", "CT", 4)]
    assert server.pacs.list_studies(patient="P2") == []


def test_images_arrive_as_they_are_stored(server, tmp_path):
    (tmp_path / "new").mkdir()
    size = server.pacs.fetch(series_of(server), tmp_path / "new", 3)
    sent = {each.data for each in server.objects.values() if each.header.SeriesInstanceUID == SERIES}
    assert {path.read_bytes() for path in (tmp_path / "new").iterdir()} == sent
    assert size == sum(map(len, sent))


def test_credentials_are_sent_and_their_refusal_says_what_to_set(server):
    server.token = "geheim"
    assert server.pacs.list_studies()
    with pytest.raises(InputError, match=r"\(401\).*FEWPOINT_DICOMWEB_TOKEN") as refusal:
        Pacs(server.pacs.address).list_studies()
    assert "geheim" not in str(refusal.value)


def test_what_is_not_there_is_named_by_its_status(server, tmp_path):
    with pytest.raises(InputError, match="404"):
        server.pacs.fetch(replace(series_of(server), series="1.2.3"), tmp_path)


def test_a_redirect_is_not_followed_and_gets_no_credentials(server):
    server.token = "geheim"
    with fake_pacs() as other:

        def redirect(handler) -> bool:
            handler.reply(302, "text/plain", b"", Location=f"http://localhost:{other.port}/dicom-web/studies")
            return True

        server.answer = redirect
        with pytest.raises(InputError, match="which is not followed"):
            server.pacs.list_studies()
        assert other.heard == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>welcome</html>", "JSON"),
        (b"[" * 10**5, "JSON"),
        (b'{"a": 1}', "a list"),
        (b"[1, 2]", "a list"),
        (json.dumps([{"0020000D": {"Value": ["../../etc"]}}]).encode(), "a UID"),
        (json.dumps([{"0020000D": {"Value": {"x": 1}}}]).encode(), "a UID"),
        (b"", "JSON"),
    ],
)
def test_nonsense_in_a_list_is_refused_in_one_line(server, body, words):
    server.answer = lambda handler: handler.reply(200, "application/dicom+json", body) or True
    with pytest.raises(InputError, match=words) as refusal:
        server.pacs.list_studies()
    assert "\n" not in str(refusal.value)


def test_an_answer_that_does_not_end_is_cut_at_its_limit(server, monkeypatch):
    monkeypatch.setattr(service, "LARGEST_ANSWER", 2**20)
    sent = []

    def flood(handler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        try:
            while sum(sent) < 2**28:
                sent.append(handler.wfile.write(b" " * 2**16))
        except OSError:
            pass
        handler.close_connection = True
        return True

    server.answer = flood
    with pytest.raises(InputError, match="more than 1 MiB"):
        server.pacs.list_studies()


def test_a_server_that_trickles_is_left_after_its_time(server):
    def trickle(handler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(600):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.1)
        except OSError:
            pass
        handler.close_connection = True
        return True

    server.answer = trickle
    question = talking.Question("GET", "/studies", "application/dicom+json")
    pacs = server.pacs
    with (
        pytest.raises(InputError, match="took longer than 1 s"),
        talking.ask(pacs.address, pacs.credentials, question, Limits(seconds=0.7)) as answer,
    ):
        answer.read_all()


def test_a_server_that_says_nothing_is_left(server, monkeypatch):
    monkeypatch.setattr(talking, "IDLE_SECONDS", 0.3)
    left = threading.Event()
    server.answer = lambda handler: left.wait(600)
    with pytest.raises(InputError, match="silent"):
        server.pacs.list_studies()
    left.set()


def test_nobody_at_an_address_is_one_line():
    with pytest.raises(InputError, match="cannot talk to dicomweb://localhost:1/x"):
        Pacs(ServiceAddress(False, "localhost", 1, "/x")).list_studies()


def send_images(server: FakePacs, change) -> None:
    """Let the server send its images changed by a function of the bytes."""

    def answer(handler) -> bool:
        parts = [each.data for each in server.objects.values() if each.header.SeriesInstanceUID == SERIES]
        body = b"".join(b"\r\n--b\r\n\r\n" + part for part in parts) + b"\r\n--b--"
        handler.reply(200, "multipart/related; boundary=b", change(body))
        return True

    server.answer = answer


def test_an_answer_with_images_that_breaks_off_is_an_error(server, tmp_path):
    send_images(server, lambda body: body[:-700])
    with pytest.raises(InputError, match="breaks off"):
        server.pacs.fetch(series_of(server), tmp_path)


def test_a_connection_that_dies_within_an_answer_is_an_error(server, tmp_path):
    def answer(handler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Type", "multipart/related; boundary=b")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"--b\r\n\r\n" + b"\0" * 128 + b"DICM")
        handler.close_connection = True
        return True

    server.answer = answer
    with pytest.raises(InputError, match="breaks off"):
        server.pacs.fetch(series_of(server), tmp_path)


def test_fewer_images_than_listed_are_an_error(server, tmp_path):
    with pytest.raises(InputError, match="all 5 images of the series, it sent 3"):
        server.pacs.fetch(series_of(server), tmp_path, expected=5)


def test_what_is_no_dicom_file_is_not_written(server, tmp_path):
    send_images(server, lambda body: body.replace(b"DICM", b"#!sh"))
    with pytest.raises(InputError, match="DICOM files"):
        server.pacs.fetch(series_of(server), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_too_many_images_are_an_error(server, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "MOST_FILES", 2)
    with pytest.raises(InputError, match="at most 2"):
        server.pacs.fetch(series_of(server), tmp_path)


def test_too_many_bytes_of_images_are_an_error(server, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "FETCH", Limits(answer_bytes=1000))
    with pytest.raises(InputError, match="more than"):
        server.pacs.fetch(series_of(server), tmp_path)


def test_a_refused_object_is_an_output_error_with_its_reason(server):
    table = {"00081198": {"Value": [{"00081197": {"Value": [43264]}}]}}
    server.answer = lambda handler: handler.reply(200, "application/dicom+json", json.dumps(table).encode()) or True
    with pytest.raises(OutputError, match="reason 43264"):
        server.pacs.store(b"", STUDY)


@pytest.mark.parametrize("status", [400, 409, 500, 503])
def test_other_failures_are_named_by_their_status(server, status):
    server.answer = lambda handler: handler.reply(status, "text/plain", b"") or True
    with pytest.raises(FewpointError, match=str(status)):
        server.pacs.store(b"", STUDY)
