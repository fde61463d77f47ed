"""Addresses on a PACS: what is understood, and that nothing else goes into a request."""

from pathlib import Path

import pytest

from fewpoint.errors import InputError
from fewpoint.io.pacs.addresses import check_uid, is_remote, name_input, parse_series, parse_service

STUDY = "dicomweb://pacs/dicom-web/studies/1.2.3"


@pytest.mark.parametrize(
    "text",
    [
        f"{STUDY}/series/1.2.3.4",
        f"{STUDY}/series/1.2.3.4/",
        "http://PACS:80/dicom-web/studies/1.2.3/series/1.2.3.4",
        Path(f"{STUDY}/series/1.2.3.4"),
    ],
)
def test_one_series_has_one_name_however_it_is_written(text):
    assert name_input(text) == "dicomweb://pacs/dicom-web/studies/1.2.3/series/1.2.3.4"


def test_tls_has_its_own_scheme_and_port():
    plain, encrypted = parse_service("dicomweb://pacs"), parse_service("dicomwebs://pacs/a/b")
    assert (plain.encrypted, plain.port, plain.root) == (False, 80, "")
    assert (encrypted.encrypted, encrypted.port, encrypted.root) == (True, 443, "/a/b")


def test_an_address_of_the_sixth_version_keeps_its_brackets():
    assert str(parse_service("dicomweb://[::1]:8042/x")) == "dicomweb://[::1]:8042/x"


@pytest.mark.parametrize("path", ["scans/ct", "C:/scans", "/dicomweb/x", "dicomweb.nii", "ftp://host/x"])
def test_paths_are_no_addresses(path):
    assert not is_remote(path)


@pytest.mark.parametrize(
    "text",
    [
        "dicomweb://pacs",
        "dicomweb://pacs/studies",
        "dicomweb://pacs/studies/1.2/instances/3",
        "dicomweb://pacs/studies/../series/1.2",
        "dicomweb://pacs/studies/1.2?x=1",
        "dicomweb://pacs/studies/1.2#x",
        "dicomweb://pa cs/studies/1.2",
        "dicomweb://pacs:port/studies/1.2",
        "dicomweb://pacs/a\r\nHost: evil/studies/1.2",
        "dicomweb://pacs/%2e%2e/studies/1.2",
        "dicomweb://pacs/../studies/1.2",
        "dicomweb:///studies/1.2",
    ],
)
def test_anything_else_is_refused_in_one_line(text):
    with pytest.raises(InputError) as refusal:
        parse_series(text)
    assert "\n" not in str(refusal.value).replace(text, "")


def test_a_password_in_an_address_is_refused_and_not_repeated():
    for parse in (parse_series, parse_service):
        with pytest.raises(InputError, match="FEWPOINT_DICOMWEB_USER") as refusal:
            parse("dicomwebs://reader:geheim@pacs/studies/1.2")
        assert "geheim" not in str(refusal.value)


@pytest.mark.parametrize("uid", ["", "1..2", "1.2/..", "x", "1" * 65, "1.2 ", "１.2"])
def test_what_is_no_uid_is_refused(uid):
    with pytest.raises(InputError, match="UID"):
        check_uid(uid)


def test_a_service_is_no_study():
    with pytest.raises(InputError, match="without a study"):
        parse_service(STUDY)
    with pytest.raises(InputError, match="dicomwebs://HOST"):
        parse_service("pacs")
