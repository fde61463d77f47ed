"""Numbers as people read them."""

import math


def format_share(share: float) -> str:
    """A share of the frame in percent, with the digits that matter; a dash if it is unknown.

    >>> format_share(0.1234), format_share(0.0004), format_share(0.0), format_share(float("nan"))
    ('12.3 %', '0.04 %', '0 %', '–')
    """
    if not math.isfinite(share):
        return "–"
    percent = 100 * float(share)
    if percent == 0:
        return "0 %"
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2f} %" if percent >= 0.005 else "<0.01 %"


def format_seconds(seconds: float) -> str:
    """A duration with the two units that matter.

    >>> format_seconds(0.123), format_seconds(75.2), format_seconds(3720), format_seconds(float("nan"))
    ('0.12 s', '1 min 15 s', '1 h 2 min', '–')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def format_value(value: object) -> str:
    """A setting as written in a settings file, without quotes; a dash for none.

    >>> format_value(True), format_value(1e-05), format_value((2, 3)), format_value(None)
    ('true', '1e-05', '2, 3', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(format_value(item) for item in value)
    return str(value)


def name_frame(frame: int, name: str) -> str:
    """The frame's number, and its name if that says more than the number.

    >>> name_frame(7, "0007"), name_frame(7, "slice_b")
    ('frame 7', '7 · slice_b')
    """
    return f"frame {frame}" if name.isdecimal() and int(name) == frame else f"{frame} · {name}"


def format_area(mm2: float) -> str:
    """An area in the unit that a person reads.

    >>> format_area(0.0), format_area(12.34), format_area(1620.0), format_area(123456.0)
    ('0 mm²', '12.3 mm²', '16.2 cm²', '1,230 cm²')
    """
    return _with_digits(mm2, "mm²") if mm2 < 100 else _with_digits(mm2 / 100, "cm²")


def format_volume(ml: float) -> str:
    """A volume in the unit that a person reads.

    >>> format_volume(0.0214), format_volume(87.654), format_volume(1234.5)
    ('21.4 mm³', '87.7 ml', '1.23 l')
    """
    if ml < 0.1:
        return _with_digits(1000 * ml, "mm³")
    return _with_digits(ml, "ml") if ml < 1000 else _with_digits(ml / 1000, "l")


def _with_digits(value: float, unit: str) -> str:
    """Three digits that matter, and no exponent."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f} {unit}" if rounded >= 100 or rounded == int(rounded) else f"{rounded:g} {unit}"
