"""Credentials: where they come from, whom they are for, and that they are shown nowhere."""

import pytest

from fewpoint.errors import InputError, SettingsError
from fewpoint.io.pacs.addresses import parse_service
from fewpoint.io.pacs.credentials import find_credentials, take_credentials

OWN, FAR, PLAIN = (parse_service(each) for each in ("dicomweb://localhost", "dicomwebs://pacs:8443", "dicomweb://pacs"))


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    for name in ("TOKEN", "USER", "PASSWORD", "HOST", "PLAIN"):
        monkeypatch.delenv(f"FEWPOINT_DICOMWEB_{name}", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


def set_user(monkeypatch):
    monkeypatch.setenv("FEWPOINT_DICOMWEB_USER", "ann")
    monkeypatch.setenv("FEWPOINT_DICOMWEB_PASSWORD", "geheim")


def test_without_any_nothing_is_said():
    assert find_credentials(FAR).authorisation is None


def test_a_token_goes_before_a_password(monkeypatch):
    set_user(monkeypatch)
    assert find_credentials(FAR).authorisation == "Basic YW5uOmdlaGVpbQ=="
    monkeypatch.setenv("FEWPOINT_DICOMWEB_TOKEN", "abc")
    assert find_credentials(FAR).authorisation == "Bearer abc"


def test_half_of_a_pair_is_refused(monkeypatch):
    monkeypatch.setenv("FEWPOINT_DICOMWEB_USER", "ann")
    with pytest.raises(SettingsError, match="together"):
        find_credentials(FAR)


def test_those_of_a_host_go_to_no_other(monkeypatch):
    set_user(monkeypatch)
    for host, expected in (("pacs", True), ("pacs:8443", True), ("pacs:443", False), ("other", False)):
        monkeypatch.setenv("FEWPOINT_DICOMWEB_HOST", host)
        assert (find_credentials(FAR).authorisation is not None) == expected


def test_a_netrc_file_has_them_by_host_and_its_default_is_for_nobody(tmp_path):
    (tmp_path / "netrc").write_text("machine pacs login ann password geheim\ndefault login x password y\n")
    assert find_credentials(FAR).authorisation == "Basic YW5uOmdlaGVpbQ=="
    assert find_credentials(OWN).authorisation is None


def test_a_broken_netrc_file_is_named_but_not_quoted(tmp_path):
    (tmp_path / "netrc").write_text("machine pacs geheim geheim\n")
    with pytest.raises(SettingsError, match="netrc") as refusal:
        find_credentials(FAR)
    assert "geheim" not in str(refusal.value)


def test_they_travel_encrypted_or_on_this_machine_unless_it_is_allowed(monkeypatch):
    set_user(monkeypatch)
    with pytest.raises(InputError, match="without encryption"):
        find_credentials(PLAIN)
    assert find_credentials(OWN).authorisation is not None
    monkeypatch.setenv("FEWPOINT_DICOMWEB_PLAIN", "1")
    assert find_credentials(PLAIN).authorisation is not None


def test_a_line_end_cannot_smuggle_in_a_header(monkeypatch):
    monkeypatch.setenv("FEWPOINT_DICOMWEB_TOKEN", "abc\r\nX: y")
    with pytest.raises(SettingsError, match="printable"):
        find_credentials(FAR)


def test_they_are_not_in_what_is_printed_of_them(monkeypatch):
    monkeypatch.setenv("FEWPOINT_DICOMWEB_TOKEN", "geheim")
    assert "geheim" not in repr(find_credentials(FAR))


def test_a_server_takes_them_out_of_the_environment_of_its_workers():
    environment = {"FEWPOINT_DICOMWEB_TOKEN": "a", "FEWPOINT_DICOMWEB_PASSWORD": "b", "PATH": "/bin"}
    take_credentials(FAR, environment)
    assert environment == {"PATH": "/bin"}
