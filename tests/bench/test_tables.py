"""Means, deviations and their layout, by hand."""

from dataclasses import replace

import pytest

from fewpoint.bench.results import Row
from fewpoint.bench.tables import build_tables, to_latex, to_markdown

PLAIN = Row("disc", "ball", "one", 0, "plain", "2dlocs", "eta")


def make_row(place: str, f1: float, max_sp: float, **changes) -> Row:
    kind, _, sequence = place.partition("/")
    return replace(PLAIN, type=kind, sequence=sequence, f1=f1, max_sp=max_sp, delta=f1 - max_sp, **changes)


ROWS = (
    make_row("ball/one", 0.5, 0.9),
    make_row("ball/two", 0.7, 0.9),
    make_row("ball/three", 0.9, 1.0),
    make_row("blob/four", 0.3, 0.8),
)


def test_types_all_and_delta_by_hand():
    """Ball: mean 0.7, sample deviation sqrt((0.04 + 0 + 0.04) / 2) = 0.2; blob: 0.3 alone. All is the mean over types,
    (0.7 + 0.3) / 2; delta that of (-0.4 - 0.2 - 0.1) / 3 and -0.5."""
    (table,) = build_tables(ROWS)
    assert table.types == ("ball", "blob")
    ceiling, disc = table.lines
    assert disc.types["ball"].mean == pytest.approx(0.7)
    assert disc.types["ball"].deviation == pytest.approx(0.2)
    assert (disc.types["blob"].mean, disc.types["blob"].deviation) == (0.3, None)
    assert disc.overall == pytest.approx(0.5)
    assert disc.delta == pytest.approx((-0.7 / 3 - 0.5) / 2)
    assert (ceiling.method, ceiling.overall) == ("Max SP", pytest.approx((2.8 / 3 + 0.8) / 2))
    assert (ceiling.cells, disc.cells) == (4, 4)


def test_seeds_add_to_a_type_s_cells_but_not_to_the_ceiling_s():
    (table,) = build_tables([make_row("ball/one", 0.4, 0.9), make_row("ball/one", 0.6, 0.9, seed=1)])
    ceiling, disc = table.lines
    assert disc.types["ball"].deviation == pytest.approx(0.02**0.5)
    assert (ceiling.cells, disc.cells) == (1, 2)
    assert ceiling.types["ball"].deviation is None


def test_each_variant_points_and_bound_has_a_table_of_its_own():
    others = [replace(ROWS[0], **change) for change in ({"variant": "wide"}, {"points": "few"}, {"bound": "box"})]
    titles = [table.title for table in build_tables([*ROWS, *others])]
    assert titles == [
        "variant plain, points 2dlocs, bound eta",
        "variant wide, points 2dlocs, bound eta",
        "variant plain, points few, bound eta",
        "variant plain, points 2dlocs, bound box",
    ]


def test_a_method_that_misses_a_type_has_no_mean_over_types():
    (table,) = build_tables([*ROWS, make_row("ball/one", 0.8, 0.9, method="other")])
    other = table.lines[2]
    assert (other.method, other.overall, other.delta, other.cells) == ("other", None, None, 1)


def test_failed_cells_count_nowhere():
    failed = replace(PLAIN, error="InputError: no frames")
    assert build_tables([*ROWS, failed]) == build_tables(ROWS)
    assert build_tables([failed]) == ()


def test_a_method_that_tracks_has_a_second_line_without_it():
    """On the two of three balls that tracked, 0.6 and 0.2: mean 0.4, and delta the mean of -0.3 and -0.7."""
    rows = [replace(ROWS[0], f1_untracked=0.6), replace(ROWS[1], f1_untracked=0.2), ROWS[2]]
    (table,) = build_tables([*rows, make_row("ball/one", 0.8, 0.9, method="other")])
    assert [line.method for line in table.lines] == ["Max SP", "disc", "disc, untracked", "other"]
    disc, untracked = table.lines[1:3]
    assert (disc.overall, disc.cells) == (pytest.approx(0.7), 3)
    assert (untracked.overall, untracked.delta) == (pytest.approx(0.4), pytest.approx(-0.5))
    assert untracked.cells == 2


def test_markdown_as_a_person_reads_it():
    assert to_markdown(build_tables(ROWS)) == (
        "### variant plain, points 2dlocs, bound eta\n"
        "\n"
        "| F1 | ball | blob | All | Delta | cells |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| Max SP | 0.933 ± 0.058 | 0.800 | 0.867 | – | 4 |\n"
        "| disc | 0.700 ± 0.200 | 0.300 | 0.500 | -0.367 | 4 |\n"
    )


def test_latex_has_a_line_a_method_and_escapes_names():
    text = to_latex(build_tables([replace(row, method="my_disc") for row in ROWS]))
    assert "\\begin{tabular}{lrrrrr}\n\\toprule\nF1 & ball & blob & All & Delta & cells \\\\\n" in text
    assert "my\\_disc & 0.700 $\\pm$ 0.200 & 0.300 & 0.500 & $-0.367$ & 4 \\\\\n\\bottomrule" in text
