"""The worklist on the page: from study to study, verdicts, search, series of a DICOM folder, and what is deleted."""

import pytest

from dicom_series import save_two_series
from synthetic import save_frames
from web.browser.conftest import Server

pytest.importorskip("pydicom")


@pytest.fixture(scope="module")
def studies(tmp_path_factory, phantom):
    """A server with three studies and a DICOM folder."""
    root = tmp_path_factory.mktemp("studies") / "root"
    for name in ("anna", "ben", "carl"):
        save_frames(phantom.sequence.frames, root / "week" / name)
    save_two_series(root / "dicom")
    server = Server(root, ("--no-live",))
    server.start()
    yield server
    server.close()


@pytest.fixture
def person(studies, visit):
    return visit(studies)


def test_studies_are_found_opened_in_turn_judged_and_exported_from_the_worklist(person):
    page = person.page
    page.locator("#files li").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Worklist").click()
    page.locator("#my-name").fill("Dr Lee")
    page.locator("#my-name").blur()
    rows = page.locator("#work-rows tr")
    page.get_by_role("button", name="week/anna").wait_for()
    assert rows.count() == 4
    page.locator("#work-search").fill("week anna")
    assert rows.count() == 1
    page.locator("#work-search").fill("week")
    page.get_by_role("button", name="week/anna").click()
    person.expect("state.project?.name === 'anna'")
    person.see_frame(0)
    page.keyboard.press("d")
    person.drag((20, 20), (20, 28))
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.length === 1")
    page.keyboard.press("Shift+Y")
    person.expect("state.project.review.verdict === 'accepted'")
    page.locator("#verdict", has_text="Accepted by Dr Lee.").wait_for()

    # To the next one, which has nothing to accept yet, and back.
    page.keyboard.press("Shift+K")
    person.expect("state.project.name === 'ben'")
    page.keyboard.press("Shift+J")
    person.expect("state.project.name === 'anna'")
    page.keyboard.press("Shift+J")
    person.expect_words("This is the first study.")

    page.keyboard.press("Control+l")
    page.locator("#work-search").fill("")
    page.locator("tr.chosen .state.accepted").wait_for()
    assert "Dr Lee" in page.locator("tr.chosen").inner_text()
    page.locator("#queue", has_text="No run is active or waiting.").wait_for()
    person.shoot("worklist")
    page.locator("#work-filter").select_option("accepted")
    assert rows.count() == 1


def test_a_dicom_folder_with_two_series_offers_both(person):
    page = person.page
    page.locator("#files").get_by_role("button", name="dicom").click()
    page.get_by_role("button", name="venous").wait_for()
    person.shoot("series")
    assert "P1" in page.locator("#files").inner_text() and "4 images" in page.locator("#files").inner_text()
    page.get_by_role("button", name="venous").click()
    person.expect("state.project?.frames === 4 && state.project.unit === 'HU'")


def test_what_was_sent_is_deleted_from_the_history(person, tmp_path):
    import numpy as np

    page = person.page
    np.save(tmp_path / "knee.npy", np.arange(3 * 20 * 24, dtype=np.uint8).reshape(3, 20, 24))
    page.locator("#upload").set_input_files(tmp_path / "knee.npy")
    person.expect("state.project?.frames === 3")
    page.locator("#stage").focus()
    page.keyboard.press("Shift+H")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete what was sent as knee.npy").click()
    page.locator("#files li").first.wait_for()
    person.expect("state.project === null")
    assert not (person.server.root / "fewpoint-uploads" / "knee").exists()
    person.complaints.clear()  # of events of a project that is gone
