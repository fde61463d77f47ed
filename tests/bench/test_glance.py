"""The targets at a glance, by hand."""

from dataclasses import replace

import pytest

from fewpoint.bench.glance import build_glances, to_markdown
from fewpoint.bench.results import Row

PLAIN = Row("fast", "ball", "one", 0, "plain", "2dlocs", "eta", prior_mae=0.02, time_s=3.0)


def make_row(place: str, f1: float, max_sp: float = 0.9, **changes) -> Row:
    kind, _, sequence = place.partition("/")
    return replace(PLAIN, type=kind, sequence=sequence, f1=f1, max_sp=max_sp, delta=f1 - max_sp, **changes)


ROWS = (
    make_row("ball/one", 0.8),
    make_row("ball/two", 0.7),
    make_row("ball/three", 0.3),
    make_row("blob/four", 0.5, prior_mae=0.06, time_s=11.0),
)


def test_a_line_by_hand():
    """Ball 0.6 and blob 0.5 on average, against 0.9: -0.3 and -0.4. Priors 0.02 and 0.06; time (3 x 3 + 11) / 4."""
    (line,) = build_glances(ROWS)
    assert line.names == ("fast", "plain", "2dlocs", "eta")
    assert (line.f1, line.delta) == (pytest.approx(0.55), pytest.approx(-0.35))
    assert (line.worst_type, line.worst_delta) == ("blob", pytest.approx(-0.4))
    assert line.collapsed == 1
    assert (line.prior_mae, line.time_s) == (pytest.approx(0.04), pytest.approx(5.0))
    assert line.seed_deviation is None


def test_a_sequence_collapses_once_and_only_under_a_fair_ceiling():
    """0.5 is not below one half, a ceiling of 0.8 not above 0.8, and two seeds of one sequence count once."""
    rows = [
        *(make_row("ball/one", 0.2), make_row("ball/one", 0.3, seed=1), make_row("ball/two", 0.49)),
        *(make_row("ball/three", 0.5), make_row("ball/four", 0.1, max_sp=0.8)),
    ]
    assert build_glances(rows)[0].collapsed == 2


def test_the_deviation_over_seeds_is_a_mean_over_sequences():
    """0.6 and 0.8: sqrt(0.02); three times 0.5: 0; a sequence of one seed counts nowhere."""
    rows = [
        *(make_row("ball/one", f1, seed=seed) for seed, f1 in enumerate((0.6, 0.8))),
        *(make_row("ball/two", 0.5, seed=seed) for seed in range(3)),
        make_row("ball/three", 0.1),
    ]
    assert build_glances(rows)[0].seed_deviation == pytest.approx(0.02**0.5 / 2)


def test_there_is_a_line_for_each_method_variant_points_and_bound():
    changes = ({"bound": "box"}, {"points": "few"}, {"variant": "wide"}, {"method": "disc"})
    lines = build_glances([*ROWS, *(replace(row, **change) for change in changes for row in ROWS)])
    assert [line.names for line in lines] == [
        ("fast", "plain", "2dlocs", "eta"),
        ("fast", "plain", "2dlocs", "box"),
        ("fast", "plain", "few", "eta"),
        ("fast", "wide", "2dlocs", "eta"),
        ("disc", "plain", "2dlocs", "eta"),
    ]
    assert {(line.f1, line.collapsed) for line in lines} == {(lines[0].f1, 1)}


def test_a_method_that_misses_a_type_has_no_means_over_types():
    line = build_glances([*ROWS, make_row("ball/one", 0.8, method="disc")])[1]
    assert (line.f1, line.delta, line.prior_mae) == (None, None, None)
    assert (line.worst_type, line.worst_delta) == ("ball", pytest.approx(-0.1))


def test_failed_cells_count_nowhere():
    failed = replace(PLAIN, error="InputError: no frames")
    assert build_glances([*ROWS, failed]) == build_glances(ROWS)
    assert to_markdown(build_glances([failed])) == ""


def test_markdown_as_a_person_reads_it():
    assert to_markdown(build_glances(ROWS)) == (
        "### Summary\n"
        "\n"
        "| method | variant | points | bound "
        "| F1 | Delta | worst type | collapsed | prior MAE | seed deviation | time s |\n"
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| fast | plain | 2dlocs | eta | 0.550 | -0.350 | -0.400 blob | 1 | 0.040 | – | 5.0 |\n"
    )
