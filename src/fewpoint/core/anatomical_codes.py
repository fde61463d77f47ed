"""Names of anatomy that are offered for objects, with the SNOMED CT code that a DICOM file gives them.

Only codes that pydicom's dictionary of concepts has, too.
"""

CODES: dict[str, str] = {
    "aorta": "15825003",
    "bladder": "89837001",
    "brain": "12738006",
    "colon": "71854001",
    "gallbladder": "28231008",
    "heart": "80891009",
    "kidney": "64033007",
    "liver": "10200004",
    "lung": "39607008",
    "lymph node": "59441001",
    "pancreas": "15776009",
    "prostate": "41216001",
    "spleen": "78961009",
    "stomach": "69695003",
    "tumour": "108369006",
    "urinary bladder": "89837001",
    "uterus": "35039007",
}


def find_code(name: str) -> str | None:
    """The code of a name, None for one that is not known.

    >>> find_code("Liver")
    '10200004'
    """
    return CODES.get(name.strip().lower())
