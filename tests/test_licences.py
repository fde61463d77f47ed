"""Everything that users install with fewpoint is under a licence that goes together with its own."""

from importlib.metadata import PathDistribution

import pytest

from licences import PACKAGE, judge, list_brought, list_extras, read_licence


def test_nothing_that_users_get_is_under_the_gpl_or_an_unknown_licence():
    brought = list(list_brought(PACKAGE, list_extras()))
    assert {"numpy", "torch", "highdicom", "av"} <= {each.metadata["Name"].lower() for each in brought}
    assert {each.metadata["Name"]: reason for each in brought if (reason := judge(read_licence(each)))} == {}


def test_what_only_tests_and_the_site_need_is_left_out():
    names = {each.metadata["Name"].lower() for each in list_brought(PACKAGE, list_extras())}
    assert names.isdisjoint({"pytest", "mkdocs", "playwright", "schemathesis", "twine"})


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "GNU General Public License v2 (GPLv2)", "AGPL-3.0", "MIT AND GPLv3"]
)
def test_the_gpl_is_refused(licence):
    assert "GPL" in judge(licence)


@pytest.mark.parametrize("licence", ["LGPL-3.0-or-later", "MPL-2.0", "3-Clause BSD License", "PSF-2.0", "MIT-CMU"])
def test_licences_that_ask_little_are_taken(licence):
    assert judge(licence) == ""


@pytest.mark.parametrize(("name", "taken"), [("nvidia-cublas", True), ("cuda-toolkit", True), ("nvidia", False)])
def test_of_what_is_no_free_software_the_libraries_of_cuda_alone_are_taken(name, taken, tmp_path):
    (tmp_path / "METADATA").write_text(f"Name: {name}\nVersion: 1\nLicense-Expression: LicenseRef-NVIDIA-Proprietary\n")
    assert (judge(read_licence(PathDistribution(tmp_path))) == "") == taken


@pytest.mark.parametrize("licence", ["", "Other/Proprietary License", "UNKNOWN"])
def test_what_is_not_known_is_not_taken(licence):
    assert judge(licence) != ""
