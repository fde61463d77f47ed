"""A real server for the module, whose runs take a second, and Slicer's scene."""

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace

import pytest
from FewpointLib.connection import Connection
from FewpointLib.study import ObjectMask, Step, Study, open_study

from fewpoint.web import queueing
from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from integrations.slicer import stand_ins
from integrations.slicer.phantoms import CLICKS, VOLUME, finish
from web.visits import QUICK_WORKER, make_options, make_root, serve_in_thread

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    """Its address as it is printed, with the token."""
    root = make_root(tmp_path_factory.mktemp("slicer") / "root")
    real, queueing.COMMAND = queueing.COMMAND, QUICK_WORKER
    with serve_in_thread(create_app(make_options(root, gate=Gate.for_host("127.0.0.1", TOKEN)))) as address:
        yield f"{address}/?token={TOKEN}"
    queueing.COMMAND = real


@pytest.fixture(scope="session")
def segmented(server) -> tuple[Study, list[ObjectMask], list[Step]]:
    """A study whose first run has finished, with its masks and all steps on the way."""
    steps = []
    study = finish(open_study(Connection(server), VOLUME), steps.append)
    study.say(CLICKS)
    return study, finish(study.segment(), steps.append), steps


@pytest.fixture(params=["stand-ins", "slicer-core"])
def scene(request, monkeypatch) -> Iterator[SimpleNamespace]:
    """Slicer's scene, as stand-ins and as it is, with the module's files that import it."""
    if request.param == "slicer-core":
        pytest.importorskip("slicer_core", reason="needs Slicer's own libraries: pip install slicer-core")
    modules = stand_ins.make_scene() if request.param == "stand-ins" else stand_ins.make_real_scene()
    slicer, qt, base = modules["slicer"], ModuleType("qt"), ModuleType("slicer.ScriptedLoadableModule")
    for name, widget in stand_ins.QT.items():
        setattr(qt, name, widget)
    for name, widget in stand_ins.WIDGETS.items():
        monkeypatch.setattr(slicer, name, widget, raising=False)
    for kind in (stand_ins.ScriptedLoadableModule, stand_ins.ScriptedLoadableModuleWidget):
        setattr(base, kind.__name__, kind)
    stand_ins.QSettings.kept.clear()
    for name, module in {**modules, "qt": qt, base.__name__: base}.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("FewpointLib.nodes", "Fewpoint"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    nodes, panel = import_module("FewpointLib.nodes"), import_module("Fewpoint")
    yield SimpleNamespace(slicer=slicer, vtk=modules["vtk"], nodes=nodes, panel=panel)
    for name in ("FewpointLib.nodes", "Fewpoint"):
        sys.modules.pop(name, None)
