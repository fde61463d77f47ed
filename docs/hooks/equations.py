"""Blocks of ```math become MathML, which browsers show without a script; GitHub shows the same blocks."""

from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fences["custom_fences"] = [{"name": "math", "class": "math", "format": _draw}]
    return config


def _draw(source: str, *_: Any, **__: Any) -> str:
    return f'<div class="math">{convert(source, display="block")}</div>'
