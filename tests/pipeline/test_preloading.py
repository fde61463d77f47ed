"""What is done on a GPU in the background before anything is learnt; a CPU can do it as well."""

from types import SimpleNamespace

import pytest
import torch

from fewpoint.core.settings import override_from_text
from fewpoint.methods.paper import PAPER
from fewpoint.pipeline import preloading
from fewpoint.pipeline.preloading import preload, take_empty_step
from tiny_runs import TINY, make_task

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
NARROW_PAPER = override_from_text(PAPER, ["network.base_width=2", "training.batch=2", "training.max_side=32"])


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    monkeypatch.setattr(preloading, "_tried", set())


@pytest.mark.parametrize("names", [("",), ("a", "b")], ids=["one object", "two objects"])
@pytest.mark.parametrize("settings", [TINY, NARROW_PAPER])
def test_the_step_is_that_of_the_task(settings, names, monkeypatch):
    tasks, taken = dict.fromkeys(names, make_task(settings)), []
    original = preloading.stages.prepare_learning

    def prepare(*given, **more):
        taken.append(original(*given, **more))
        return taken[-1]

    monkeypatch.setattr(preloading.stages, "prepare_learning", prepare)
    take_empty_step(tasks, CPU)
    trainer = taken[0].trainer
    assert trainer.samples.frames.shape[-2:] == preloading.stages.fit_size(tasks).padded
    assert len(trainer.samples.frames) == settings.training.batch
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in trainer.network.parameters())


def test_what_fails_in_the_background_fails_silently_and_is_tried_again(monkeypatch):
    asked = []

    def fail(tasks, device):
        asked.append(device)
        raise RuntimeError("out of memory")

    monkeypatch.setattr(preloading, "take_empty_step", fail)
    for _ in range(2):
        preload({"": make_task(TINY)}, None, CUDA)()
    assert asked == [CUDA, CUDA]


def test_neither_a_cpu_nor_a_finished_run_loads_anything(monkeypatch):
    asked = []
    monkeypatch.setattr(preloading, "take_empty_step", lambda tasks, device: asked.append(device))
    preload({"": make_task(TINY)}, None, CPU)()
    preload({"": make_task(TINY)}, SimpleNamespace(finished=True), CUDA)()
    assert not asked
    preload({"": make_task(TINY)}, SimpleNamespace(finished=False), CUDA)()
    assert asked == [CUDA]


def test_a_network_is_tried_out_once_in_a_process(monkeypatch):
    asked = []
    monkeypatch.setattr(preloading, "take_empty_step", lambda tasks, device: asked.append(tasks))
    wider = override_from_text(TINY, ["network.base_width=4"])
    for settings in (TINY, TINY, wider, TINY):
        preload({"": make_task(settings)}, None, CUDA)()
    assert [tasks[""].plan.network.base_width for tasks in asked] == [TINY.network.base_width, 4]
