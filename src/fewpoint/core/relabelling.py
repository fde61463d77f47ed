"""What objects are called in files, if it is not what the run calls them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fewpoint.core.given import need
from fewpoint.core.labels import Code, ObjectLabel, label_objects
from fewpoint.core.result import Result
from fewpoint.errors import InputError


@dataclass(frozen=True)
class Relabelling:
    """Other names, codes and numbers of objects.

    renames: new names by old ones. codes: in DICOM, by new names. order: new names in the order of their numbers, from
    1; those of all objects, sorted, if it is empty.

    >>> Relabelling({"object": "liver"}).name("object")
    'liver'
    """

    renames: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Code] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for old, new in need(self.renames, Mapping, "renames", "new names by old ones").items():
            need(old, str, "an old name", "text")
            need(new, str, f"the new name of {old}", "text")
        for name, code in need(self.codes, Mapping, "codes", "a Code by name").items():
            need(code, Code, f"the code of {name}", "a Code")
        for name in need(self.order, tuple, "order", "a tuple of names"):
            need(name, str, "a name in order", "text")

    @classmethod
    def parse(cls, renames: Iterable[str] = (), codes: Iterable[str] = (), order: str = "") -> "Relabelling":
        """From texts OLD=NEW, NAME=SCHEME:VALUE:MEANING, and A,B,C."""
        names = tuple(name.strip() for name in order.split(",") if name.strip())
        if len(set(names)) < len(names):
            raise InputError(f"each label must be given once, got {order}")
        return cls(
            dict(_split("a renaming", "OLD=NEW", text) for text in renames),
            {name: Code.parse(code) for name, code in (_split("a code", "NAME=CODE", text) for text in codes)},
            names,
        )

    def name(self, name: str) -> str:
        """What an object of that name is called."""
        return self.renames.get(name, name)

    def apply(self, result: Result) -> Result:
        """The result with its objects called so, in their own order; InputError for names that fit nothing."""
        names = [self.name(each.name) for each in result.objects]
        if len(set(names)) < len(names):
            raise InputError(f"two objects cannot have one name, got {', '.join(names)}; rename them differently")
        objects = tuple(
            replace(each, label=replace(each.label, name=name, code=self.codes.get(name, each.label.code)))
            for each, name in zip(result.objects, names, strict=True)
        )
        return replace(result, objects=objects)

    def check(self, found: Iterable[str]) -> None:
        """InputError for a renaming or a code of an object that there is not; found: old names of all objects."""
        old = set(found)
        new = {self.name(name) for name in old}
        for what, names, known in (("renamed", self.renames, old), ("given a code", self.codes, new)):
            unknown = sorted(set(names) - known)
            if unknown:
                raise InputError(f"there is no object {unknown[0]} to be {what}; there are {', '.join(sorted(known))}")

    def number(self, found: Iterable[str]) -> tuple[ObjectLabel, ...]:
        """All objects in the order of their numbers; found: old names of all objects."""
        names = {self.name(name) for name in found}
        if self.order:
            left = sorted(names - set(self.order))
            if left:
                raise InputError(f"--labels must name every object, {left[0]} is not among {', '.join(self.order)}")
        labels = label_objects(self.order or tuple(sorted(names)))
        return tuple(replace(label, code=self.codes.get(label.name)) for label in labels)


def _split(what: str, form: str, text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise InputError(f"{what} must be {form}, got {text[:60]}")
    return name, value
