"""How processes of Python are started: none takes modules from the folder that it happens to run in."""

import os
import sys
from collections.abc import Mapping


def python_module(name: str) -> tuple[str, ...]:
    """The command that runs a module of this package; the folder of the data may hold a random.py."""
    return (sys.executable, "-P", "-m", name)


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The same variables, less the places of modules that depend on the present folder.

    >>> safe_environment({"PYTHONPATH": "/opt/modules::lib"})
    {'PYTHONPATH': '/opt/modules'}
    """
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    kept = os.pathsep.join(place for place in places if os.path.isabs(place))
    others = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return {**others, "PYTHONPATH": kept} if kept else others
