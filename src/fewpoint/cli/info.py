"""`fewpoint info`: what this installation is and can do, without importing torch."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fewpoint import __version__
from fewpoint.cli.outputs import AsJson, print_json

Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON schema of every --json output.")]
SCHEMA_FILE = "output.schema.json"
DEVICES = {"auto": "the fastest there is", "cpu": "any processor", "cuda": "NVIDIA GPUs", "mps": "Apple GPUs"}


def info_command(as_json: AsJson = False, schema: Schema = False) -> None:
    """Show version, formats, extras, devices, methods and presets."""
    if schema:
        print(Path(__file__).with_name(SCHEMA_FILE).read_text(encoding="utf-8"), end="")
        return
    from fewpoint.methods.registry import PAPER_NAMES

    facts = collect_facts()
    if as_json:
        print_json("info", facts)
        return
    print(f"fewpoint {facts['version']}")
    for title in ("formats", "outputs", "devices"):
        _show_lines(title, facts[title])
    _show_lines("methods", {name: method["summary"] for name, method in facts["methods"].items()})
    hints = {name: f"not installed: pip install fewpoint[{name}]" for name in facts["extras"]}
    _show_lines("extras", {name: "installed" if there else hints[name] for name, there in facts["extras"].items()})
    for name, sections in facts["presets"].items():
        _show_settings(f"preset {name}", sections)
    for name, method in facts["methods"].items():
        if method["settings"] and name not in PAPER_NAMES:
            _show_settings(f"method {name}", method["settings"])


def _show_lines(title: str, lines: dict[str, str]) -> None:
    print(f"\n{title}")
    for name, description in lines.items():
        print(f"  {name:16}  {description}")


def _show_settings(title: str, sections: dict[str, dict[str, Any]]) -> None:
    print(f"\n{title}")
    for section, values in sections.items():
        print(f"  {section:13}" + ", ".join(f"{key}={value}" for key, value in values.items()))


def collect_facts() -> dict:
    from fewpoint.core.job import FILM
    from fewpoint.core.settings import as_table
    from fewpoint.io.extras import EXTRAS, is_installed
    from fewpoint.io.formats import FILES, FILM_FILE
    from fewpoint.io.images import FORMATS
    from fewpoint.methods.competitors.registry import COMPETITORS
    from fewpoint.methods.registry import PRESETS

    summaries = {name: competitor.summary for name, competitor in COMPETITORS.items()}
    summaries |= {"ssnnpu": "the preset paper without tracking", "ssnnpu+ksptrack": "the preset paper"}
    summaries["paper-printed"] = "the paper's text to the letter, to compare with"
    return {
        "version": __version__,
        "formats": FORMATS,
        "outputs": {**FILES, FILM: FILM_FILE},
        "extras": {name: is_installed(name) for name in EXTRAS},
        "devices": DEVICES,
        "methods": {name: {"summary": summary, "settings": _find_table(name)} for name, summary in summaries.items()},
        "presets": {name: as_table(settings) for name, settings in PRESETS.items()},
    }


def _find_table(method: str) -> dict[str, dict[str, Any]] | None:
    """The settings of a method; None for one that has none."""
    from fewpoint.core.settings import as_table
    from fewpoint.methods.registry import find_settings

    settings = find_settings(method)
    return None if settings is None else as_table(settings)
