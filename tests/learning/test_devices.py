"""The device asked for, or a clear word why not."""

import pytest
import torch

from fewpoint.errors import DeviceError
from fewpoint.learning.devices import choose_device, describe_device


def test_the_cpu_is_always_there_and_described_with_its_threads():
    device = choose_device("cpu")
    assert device == torch.device("cpu")
    assert describe_device(device) == f"cpu ({torch.get_num_threads()} threads)"


@pytest.mark.parametrize(("cuda", "mps", "chosen"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")])
def test_auto_takes_the_fastest_there_is(monkeypatch, cuda, mps, chosen):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device("auto").type == chosen


def test_a_device_that_is_not_there_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=r"cuda is not available.*auto or cpu"):
        choose_device("cuda")
    with pytest.raises(DeviceError, match="one of auto, cpu, cuda, mps, got tpu"):
        choose_device("tpu")
