"""A desk, a study with a finished run, and Qt without a screen."""

import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest

from fewpoint.napari.desk import Desk
from fewpoint.napari.study import Study
from fewpoint.web import queueing
from small_desk import CLICKS, FRAMES, make_desk, wait_until
from web.visits import QUICK_WORKER


@pytest.fixture(autouse=True, scope="session")
def quick_runs() -> Iterator[None]:
    real, queueing.COMMAND = queueing.COMMAND, QUICK_WORKER
    yield
    queueing.COMMAND = real


@pytest.fixture
def desk(tmp_path) -> Iterator[Desk]:
    desk = make_desk(tmp_path)
    yield desk
    desk.close()


@pytest.fixture(scope="session")
def qapp():
    """Qt's application; where Qt cannot be loaded, such as for want of libEGL, tests say so and are skipped."""
    try:
        from pytestqt.qt_compat import qt_api
        from qtpy.QtWidgets import QApplication
    except ImportError as error:
        pytest.skip(f"Qt cannot be loaded: {error}")
    qt_api.set_qt_api(None)
    return QApplication.instance() or QApplication([])


@pytest.fixture
def qtbot(qapp, request) -> Iterator[Any]:
    """pytest-qt's own, which is not loaded as a plugin: that would load Qt for all other tests, too."""
    from pytestqt.qtbot import QtBot, _close_widgets

    yield QtBot(request)
    _close_widgets(request.node)


@pytest.fixture
def study(desk) -> Study:
    return desk.open_image(FRAMES, "phantom")


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Iterator[Study]:
    """A study with one finished run, which tests leave as they find it."""
    desk = make_desk(tmp_path_factory.mktemp("napari"))
    study = desk.open_image(FRAMES, "phantom")
    study.set_clicks("object", CLICKS)
    number = study.run(refine=False)
    wait_until(lambda: study.describe_run(number).is_over)
    assert study.describe_run(number).state == "finished", study.describe_run(number)
    yield study
    desk.close()
