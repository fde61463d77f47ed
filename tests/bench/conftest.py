import pytest

from bench.datasets import Dataset


@pytest.fixture(autouse=True)
def no_data_folder_from_outside(monkeypatch):
    monkeypatch.delenv("FEWPOINT_DATA", raising=False)


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    return Dataset.make(tmp_path)
