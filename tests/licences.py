"""Say under which licence everything is that fewpoint and its extras bring along: python tests/licences.py

One line a distribution: name, version, licence. Those of tests and of the site are left out: no user gets them. What is
not on the list of licences that go together with Apache-2.0 is named on standard error, and the exit code is 1.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "fewpoint"
LEFT_OUT = ("test", "nightly", "docs")

# Looked for in this order in what a distribution says. The lesser GPL and the MPL let a library be used as it is.
REFUSED = re.compile(r"\bA?GPL|(?<!lesser )general public licen[sc]e|affero|non-?commercial", re.IGNORECASE)
ALLOWED = re.compile(
    r"\b(apache|mit|0?bsd|isc|psf|python software foundation|hpnd|historical permission|mpl|mozilla|unlicense|zlib|cc0|"
    r"lgpl|lesser general)",
    re.IGNORECASE,
)
# Distributions that say nothing of themselves which can be understood, each looked up by hand; none at present.
LOOKED_UP: dict[str, str] = {}
# CUDA's own libraries, which torch's wheels for Linux bring: no free software, but free of charge for any use with it.
OF_CUDA = re.compile(r"nvidia-.+|cuda-toolkit")
CUDA_TERMS = "NVIDIA's terms for CUDA"


def list_brought(name: str, extras: frozenset[str]) -> Iterator[Distribution]:
    """A distribution and all that it needs here, each once; what is not installed is left out."""
    waiting, seen = [(name, extras)], set()
    while waiting:
        current, asked = waiting.pop()
        key = (canonicalize_name(current), asked)
        if key in seen:
            continue
        try:
            found = distribution(current)
        except PackageNotFoundError:
            continue
        if not any(known == key[0] for known, _ in seen):
            yield found
        seen.add(key)
        for text in found.requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in asked | {""}):
                waiting.append((needed.name, frozenset(needed.extras)))


def list_extras() -> frozenset[str]:
    """The extras that users install."""
    return frozenset(distribution(PACKAGE).metadata.get_all("Provides-Extra") or ()) - set(LEFT_OUT)


def read_licence(found: Distribution) -> str:
    """What a distribution says of its licence, in one line; empty if it says nothing."""
    told = found.metadata
    if known := LOOKED_UP.get(canonicalize_name(told["Name"])):
        return known
    if OF_CUDA.fullmatch(canonicalize_name(told["Name"])):
        return CUDA_TERMS
    kinds = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or () if line.startswith("License ::")]
    name = (told.get("License") or "").partition("\n")[0]  # some put the whole text there
    return " ".join((told.get("License-Expression") or " and ".join(kinds) or name).split())


def judge(licence: str) -> str:
    """Why a licence is not taken, empty if it is.

    >>> judge("MIT"), judge("GNU Lesser General Public License v3 (LGPLv3)")
    ('', '')
    >>> judge("GPL-3.0-only"), judge("")
    ('is under the GPL or a licence like it', 'is under no licence that is known')
    """
    if licence == CUDA_TERMS:
        return ""
    if REFUSED.search(licence):
        return "is under the GPL or a licence like it"
    return "" if ALLOWED.search(licence) else "is under no licence that is known"


def main() -> None:
    complaints = []
    for found in sorted(list_brought(PACKAGE, list_extras()), key=lambda each: each.metadata["Name"].lower()):
        name, licence = found.metadata["Name"], read_licence(found)
        print(f"{name} {found.version}: {licence}")
        if reason := judge(licence):
            complaints.append(f"{name} {reason}: {licence or 'it names none'}")
    for each in complaints:
        print(each, file=sys.stderr)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
