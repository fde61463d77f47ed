"""Text from files and from people: numbers as they are commonly written, and nothing that steers a terminal."""


def parse_whole(text: str) -> int:
    """An integer in the digits 0 to 9; ValueError for what only Python takes for one, as `1_0` or other digits.

    >>> parse_whole(" -12 ")
    -12
    """
    _refuse_other_digits(text)
    return int(text)


def parse_number(text: str) -> float:
    """A number in the digits 0 to 9; ValueError for what only Python takes for one.

    >>> parse_number("1e-3")
    0.001
    """
    _refuse_other_digits(text)
    return float(text)


def show_plainly(text: str) -> str:
    r"""The same text with what cannot be printed written out, so that names from files cannot steer a terminal.

    >>> show_plainly("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    return "".join(
        each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode() for each in text
    )


def is_encodable(text: str) -> bool:
    r"""Whether a name is valid UTF-8; Linux allows others, which few files and no page can hold.

    >>> is_encodable("Ü"), is_encodable("\udcff")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_other_digits(text: str) -> None:
    if "_" in text or not text.isascii():
        raise ValueError(f"not a number: {text[:40]!r}")
