"""The PACS on the page: a study, one of its series, and its images."""

import pytest

from dicom_series import save_two_series
from pacs_servers import fake_pacs
from web.browser.conftest import Server

pytest.importorskip("highdicom")


@pytest.fixture
def hospital(tmp_path):
    """A server with a PACS behind it."""
    with fake_pacs() as held:
        held.keep(save_two_series(tmp_path / "series"))
        (tmp_path / "root").mkdir()
        server = Server(tmp_path / "root", ("--no-live", "--dicomweb", held.address))
        server.start()
        yield server
        server.close()


def test_a_series_of_the_pacs_is_listed_fetched_and_shown(hospital, visit):
    person = visit(hospital)
    page = person.page
    page.get_by_label("Patient ID").fill("nobody")
    page.get_by_role("button", name="List studies").click()
    page.get_by_text("The PACS has no such study.").wait_for()
    page.get_by_label("Patient ID").fill("P1")
    page.get_by_role("button", name="List studies").click()
    page.get_by_role("button", name="2026-01-01").click()
    page.get_by_role("button", name="venous CT · 4 images").wait_for()
    page.screenshot(path=str(person.shots / "pacs.png"))
    page.get_by_role("button", name="venous CT · 4 images").click()
    person.expect("state.project?.frames === 4 && state.project.from_pacs")
