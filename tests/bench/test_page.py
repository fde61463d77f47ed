"""The page about a suite."""

import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from fewpoint.bench.folder import BenchFolder
from fewpoint.bench.page import rank_methods, render_page
from fewpoint.bench.results import Row

PLAIN = Row("good", "ball", "", 0, "plain", "2dlocs", "eta", max_sp=1.0, precision=0.5, recall=0.5, prior_mae=0.1)


def make_row(method: str, sequence: str, f1: float, **changes) -> Row:
    return replace(
        PLAIN, method=method, sequence=sequence, f1=f1, delta=f1 - 1, key=f"{method}-{sequence}-{f1}", **changes
    )


ROWS = (
    make_row("bad", "a", 0.1),
    make_row("bad", "b", 0.3),
    make_row("good", "a", 0.9),
    make_row("good", "b", 0.6),
    make_row("good", "c", 0.8),
    make_row("good", "c", 0.7, seed=1),
    replace(PLAIN, method="good", sequence="d", error="InputError: <no frames>"),
)


def test_the_best_method_comes_first_and_its_worst_sequence_first_with_its_worst_seed():
    good, bad = rank_methods(ROWS)
    assert (good.method, bad.method) == ("good", "bad")
    assert [(row.sequence, row.f1) for row in good.rows] == [("b", 0.6), ("c", 0.7), ("a", 0.9)]
    assert [row.sequence for row in bad.rows] == ["a", "b"]


def test_variants_and_bounds_do_not_hide_each_other():
    (method,) = rank_methods([ROWS[2], replace(ROWS[2], bound="box", f1=0.5, delta=-0.5)])
    assert [row.bound for row in method.rows] == ["box", "eta"]


@pytest.fixture
def page(tmp_path) -> str:
    folder = BenchFolder(tmp_path)
    for row in ROWS:
        if row.key:
            folder.montage(row.key).parent.mkdir(parents=True)
            Image.fromarray(np.zeros((90, 2400, 3), np.uint8)).save(folder.montage(row.key))
    return render_page("small", ROWS, folder)


def test_the_page_shows_each_montage_worst_first_and_loads_nothing(page):
    captions = re.findall(r"<figcaption><b>(.*?)</b> · Delta (\S+)", page)
    assert captions == [
        *(("ball/b", "-0.400"), ("ball/c", "-0.300"), ("ball/a", "-0.100")),
        *(("ball/a", "-0.900"), ("ball/b", "-0.700")),
    ]
    sources = re.findall(r'src="([^"]{20})', page)
    assert len(sources) == 5 and set(sources) == {"data:image/jpeg;base"}
    assert not re.search(r'(?:href|src)="(?:http|/)', page)


def test_the_page_names_what_failed_and_shows_the_tables(page):
    assert "1 cell failed" in page
    assert "InputError: &lt;no frames&gt;" in page
    assert "<td>Max SP</td>" in page


def test_a_cell_without_a_montage_keeps_its_figures(tmp_path):
    page = render_page("small", ROWS[:1], BenchFolder(tmp_path))
    assert "Its montage is missing." in page and "<img" not in page
    assert "<figcaption><b>ball/" in page
