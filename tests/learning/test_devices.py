"""The device asked for, or a clear word why not."""

import pytest
import torch

from fewpoint.errors import DeviceError
from fewpoint.learning.devices import choose_device, computes_mixed, cpu_threads, describe_device


def test_the_cpu_is_always_there_and_described_with_its_threads():
    device = choose_device("cpu")
    assert device == torch.device("cpu")
    assert describe_device(device) == f"cpu ({torch.get_num_threads()} threads)"


@pytest.mark.parametrize(("cuda", "mps", "chosen"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")])
def test_auto_takes_the_fastest_there_is(monkeypatch, cuda, mps, chosen):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device("auto").type == chosen


@pytest.mark.parametrize("able", [True, False])
def test_a_cpu_computes_mixed_where_it_has_instructions_for_it(monkeypatch, able):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: able)
    kinds = [kind for kind in ("cpu", "cuda", "mps") if computes_mixed(torch.device(kind))]
    assert kinds == (["cpu", "cuda"] if able else ["cuda"])


def test_a_device_that_is_not_there_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=r"cuda is not available.*auto or cpu"):
        choose_device("cuda")
    with pytest.raises(DeviceError, match="one of auto, cpu, cuda, mps, got tpu"):
        choose_device("tpu")


def test_threads_are_given_for_a_while_and_taken_back_whatever_happens():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), cpu_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        _ = 1 / 0
    assert torch.get_num_threads() == before
    with cpu_threads(0):
        assert torch.get_num_threads() == before
