"""`fewpoint info`: what this installation is and can do, without importing torch."""

import json
from typing import Annotated

import typer

from fewpoint import __version__

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DEVICES = {"auto": "the fastest there is", "cpu": "any processor", "cuda": "NVIDIA GPUs", "mps": "Apple GPUs"}


def info_command(as_json: AsJson = False) -> None:
    """Show version, formats, extras, devices, methods and presets."""
    facts = collect_facts()
    if as_json:
        print(json.dumps(facts))
        return
    print(f"fewpoint {facts['version']}")
    for title in ("formats", "outputs", "devices", "methods"):
        print(f"\n{title}")
        for name, description in facts[title].items():
            print(f"  {name:16}  {description}")
    print("\nextras")
    for name, installed in facts["extras"].items():
        print(f"  {name:16}  {'installed' if installed else f'not installed: pip install fewpoint[{name}]'}")
    for name, sections in facts["presets"].items():
        print(f"\npreset {name}")
        for section, values in sections.items():
            print(f"  {section:13}" + ", ".join(f"{key}={value}" for key, value in values.items()))


def collect_facts() -> dict:
    from fewpoint.baselines.registry import COMPETITORS
    from fewpoint.bench.methods import PAPER_NAMES
    from fewpoint.io.extras import EXTRAS, is_installed
    from fewpoint.io.formats import FILES, FILM, FILM_FILE
    from fewpoint.io.images import FORMATS
    from fewpoint.pipeline.config import PRESETS, as_table

    return {
        "version": __version__,
        "formats": FORMATS,
        "outputs": {**FILES, FILM: FILM_FILE},
        "extras": {name: is_installed(name) for name in EXTRAS},
        "devices": DEVICES,
        "methods": {
            **{name: competitor.summary for name, competitor in COMPETITORS.items()},
            **dict.fromkeys(PAPER_NAMES, "the preset paper under the paper's name"),
        },
        "presets": {name: as_table(settings) for name, settings in PRESETS.items()},
    }
