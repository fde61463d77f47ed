"""Codes of anatomy, against the concepts that pydicom knows."""

import pytest

from fewpoint.core.anatomical_codes import CODES

concepts = pytest.importorskip("pydicom.sr._concepts_dict").concepts
MEANINGS = {code: meaning for entry in concepts["SCT"].values() for code, (meaning, _) in entry.items()}
STEMS = {
    "bladder": "bladder",
    "prostate": "prostat",
    "spleen": "splen",
    "aorta": "aort",
    "pancreas": "pancrea",
    "tumour": "tumor",
}


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_a_code_means_what_its_name_says(name, code):
    assert STEMS.get(name, name).lower() in MEANINGS[code].lower()
