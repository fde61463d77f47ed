"""What the command line says, in the words of the page."""

import re

# Advice that names an option, and what a person does on the page instead.
ADVICE = {
    "--seed": "try another seed under Settings",
    "--max-fraction": "set its largest size under Size, or draw a box where it is largest",
    "--largest-box": "draw a box where it is largest",
    "--format": "choose another format",
}


def word_for_page(text: str) -> str:
    """A line without options of the command line: advice about one becomes what the page has for it, or is left out.

    >>> word_for_page("bound: assumed to be 10% of a frame; give --largest-box")
    'bound: assumed to be 10% of a frame; draw a box where it is largest'
    >>> word_for_page("the network may be trapped: try another --seed or a larger --max-fraction")
    'the network may be trapped: try another seed under Settings'
    """
    return "; ".join(filter(None, map(_word_part, text.split("; "))))


def _word_part(part: str) -> str:
    option = re.search("--[a-z][a-z-]*", part)
    if option is None:
        return part
    advice = ADVICE.get(option[0], "")
    reason, colon, rest = part.rpartition(": ")
    if colon and "--" in rest and "--" not in reason:
        return f"{reason}: {advice}" if advice else reason
    return advice
