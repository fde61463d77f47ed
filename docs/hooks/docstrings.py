"""Docstrings as Markdown: what a name means becomes an item of a list, and an example a block of code."""

import re
from collections.abc import Collection
from typing import Any

import griffe

MEANING = re.compile(r"^([a-z_][a-z_0-9]*(?:, [a-z_0-9]+)*): ")
PROMPT = ">>> "


class HouseStyle(griffe.Extension):
    """Rewrites the docstring of every object before it is rendered."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            names = [each.name for each in obj.parameters] if isinstance(obj, griffe.Function) else list(obj.members)
            obj.docstring.value = rewrite(obj.docstring.value, names)


def rewrite(text: str, names: Collection[str] = ()) -> str:
    """One paragraph, list or example after another; names: of parameters or fields, each of which begins an item.

    >>> rewrite("Sum.\\n\\na: one. b: other,\\nlarge.\\n\\n>>> add(1, 2)\\n3", ["a", "b"]).split("\\n\\n")[1:]
    ['- `a`: one.\\n- `b`: other,\\n  large.', '```pycon\\n>>> add(1, 2)\\n3\\n```']
    """
    if names:
        text = re.sub(rf"(?<=[.;]) (?=(?:{'|'.join(map(re.escape, names))}): )", "\n", text)
    return "\n\n".join(map(_rewrite_part, text.strip().split("\n\n")))


def _rewrite_part(part: str) -> str:
    lines = part.splitlines()
    if lines[0].startswith(PROMPT):
        return "\n".join(["```pycon", *lines, "```"])
    if not any(map(MEANING.match, lines)):
        return part
    written = []
    for line in lines:
        begins = MEANING.match(line)
        if begins and written and not any(each.startswith("- ") for each in written):
            written.append("")  # a list needs an empty line before it
        inside = any(each.startswith("- ") for each in written)
        written.append(MEANING.sub(r"- `\1`: ", line) if begins else f"  {line}" if inside else line)
    return "\n".join(written)
