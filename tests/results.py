"""Results changed in one place, for tests."""

from dataclasses import replace
from typing import Any

from fewpoint.core import Result


def change(result: Result, **fields: Any) -> Result:
    """The result with other values of its only object."""
    return replace(result, objects=(replace(result.only, **fields),))
