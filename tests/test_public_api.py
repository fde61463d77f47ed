"""The public names, and the example that the README shows."""

import inspect
import re
from pathlib import Path

import pytest

import fewpoint
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.masks import read_masks
from synthetic import TINY, save_phantom

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_public_names_are_few_sorted_and_importable():
    assert fewpoint.__all__ == sorted(set(fewpoint.__all__))
    assert len(fewpoint.__all__) <= 40
    assert fewpoint.__all__ == sorted(fewpoint._HOMES)
    for name in fewpoint.__all__:
        assert getattr(fewpoint, name).__name__ == name
    assert dir(fewpoint) == fewpoint.__all__


def test_every_public_name_is_explained_with_its_members_and_parameters():
    for name in fewpoint.__all__:
        found = getattr(fewpoint, name)
        text = inspect.getdoc(found)
        assert text, name
        if inspect.isfunction(found):
            assert [each for each in inspect.signature(found).parameters if each not in text] == [], name
        elif not issubclass(found, Exception):
            members = inspect.getmembers(found, lambda each: inspect.isroutine(each) or isinstance(each, property))
            own = [each for each in members if each[0] in vars(found) and not each[0].startswith("_")]
            assert [each for each, member in own if not inspect.getdoc(member)] == [], name


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'segmnt'"):
        fewpoint.segmnt  # noqa: B018


def test_the_example_of_the_readme_runs_as_it_stands(tmp_path, monkeypatch):
    """With the smallest of settings in the place of the preset, since only that it runs is claimed."""
    example = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert len(example.split("\n\n")[-1].strip().splitlines()) <= 5
    save_phantom(make_phantom(n_frames=4, size=(48, 40)), tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fewpoint.api.segmenting.preset", lambda name, device: TINY)
    exec(compile(example, "README.md", "exec"), {})
    assert read_masks(tmp_path / "result").shape == (4, 48, 40)
