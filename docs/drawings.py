"""Draws docs/images/folders.svg and docs/images/run.svg from the code: python docs/drawings.py

Folders are the layers of the import contract in pyproject.toml. The steps of a run are what `run_group`
in pipeline/group.py and its own helpers use of other files, in the order of evaluation.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
GROUP = ROOT / "src" / "fewpoint" / "pipeline" / "group.py"
WIDTH, ROW = 760, 34
STYLE = (
    "rect{fill:#eef3f8;stroke:#7590ac}text{font:14px sans-serif;fill:#1d2b3a}.file{fill:#55687c}.stage{fill:#b4501e}"
)
# Folders whose functions are steps of a run, and the methods that are.
STEPS = ("pipeline", "learning", "superpixels", "tracking", "witness")
METHODS = ("Focus.find", "Focus.narrow", "Motion.carry", "Rounds.run", "Focus.widen")
Pieces = list[str]
Step = tuple[str, str, str]  # stage or "", function, file


def read_layers() -> list[list[str]]:
    """Folders from top to bottom; those of one row do not import each other.

    >>> read_layers()[-2:]
    [['core'], ['errors']]
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    return [[name.strip().removeprefix("fewpoint.") for name in row.split("|")] for row in contract["layers"]]


def read_steps(source: str) -> list[Step]:
    """What `run_group` uses of other files but nouns and files themselves, each once, in the order of evaluation.

    >>> read_steps("from fewpoint.learning.risk import risk\\ndef run_group(log):\\n    log.run('learning', 9, risk)")
    [('learning', 'risk', 'learning/risk.py')]
    """
    steps = list(dict.fromkeys(Reader(ast.parse(source)).walk("run_group", "")))
    return [step for number, step in enumerate(steps) if step[1:] not in [each[1:] for each in steps[:number]]]


class Reader:
    """Follows one file's helpers from a function of it; outside, it knows where a name is imported from."""

    def __init__(self, tree: ast.Module) -> None:
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
        self.homes = {name.name: node.module for node in imports for name in node.names}
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.returned = {name: ast.unparse(node.returns) for name, node in self.functions.items() if node.returns}

    def walk(self, function: str, stage: str) -> Iterator[Step]:
        """The steps of a function of this file, which is forgotten then: what is used twice is one step."""
        node = self.functions.pop(function)
        every = [*node.args.args, *node.args.kwonlyargs]
        types = {each.arg: each.annotation.id for each in every if isinstance(each.annotation, ast.Name)}
        for statement in node.body:
            yield from self._visit(statement, stage, types)
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                types[ast.unparse(statement.targets[0])] = self._type_of(ast.unparse(statement.value.func))

    def _type_of(self, called: str) -> str:
        """The class that a call makes, as far as this file says: the class called, or what a function of it returns."""
        return self.returned.get(called, called)

    def _visit(self, node: ast.AST, stage: str, types: dict[str, str]) -> Iterator[Step]:
        if isinstance(node, ast.Call):
            if ast.unparse(node.func).endswith("log.run"):
                stage = ast.literal_eval(node.args[0])
            for argument in [*node.args, *node.keywords]:
                yield from self._visit(argument, stage, types)
            yield from self._visit(node.func, stage, types)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = types.get(node.value.id, node.value.id)
            yield from self._name(owner, node.attr, stage)
        elif isinstance(node, ast.Name) and node.id in self.functions:
            yield from self.walk(node.id, stage)
        elif isinstance(node, ast.Name) and node.id.islower():
            yield from self._name(node.id, "", stage)
        else:
            for child in ast.iter_child_nodes(node):
                yield from self._visit(child, stage, types)

    def _name(self, name: str, member: str, stage: str) -> Iterator[Step]:
        """A function of another file, of a module, or of a class that is a step itself."""
        home = self.homes.get(name, "").removeprefix("fewpoint.")
        if name == "stages":
            home, name, member = f"{home}.stages", member, ""
        if home.partition(".")[0] in STEPS and f"{name}.{member}" in (f"{name.lower()}.", *METHODS):
            yield stage, f"{name}.{member}".rstrip("."), home.replace(".", "/") + ".py"


def draw_layers(layers: list[list[str]]) -> str:
    """A row of boxes per layer, and the way that imports point."""
    pieces: Pieces = []
    for number, row in enumerate(layers):
        width = (WIDTH - 10) / len(row)
        for place, name in enumerate(row):
            pieces += _box(5 + place * width, number * (ROW + 4) + 5, width - 6, name)
    return _finish(pieces, len(layers) * (ROW + 4) + 10)


def draw_steps(steps: list[Step]) -> str:
    """A line per step: its stage, the function, and the file that has it."""
    pieces: Pieces = []
    before = ""
    for number, (stage, name, file) in enumerate(steps):
        y = number * 22 + 20
        pieces += [_text(10, y, stage, "stage")] if stage not in ("", before) else []
        pieces += [_text(130, y, name.replace("_", " ")), _text(400, y, file, "file")]
        before = stage
    return _finish(pieces, len(steps) * 22 + 14)


def _box(x: float, y: float, width: float, name: str) -> Pieces:
    rect = f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="4"/>'
    return [rect, _text(x + width / 2, y + 22, name, anchor="middle")]


def _text(x: float, y: float, text: str, kind: str = "name", anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _finish(pieces: Pieces, height: int) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">'
    ground = '<path fill="#fff" d="M0 0h9999v9999H0z"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *pieces, "</svg>", ""])


def draw() -> dict[str, str]:
    """Each file of docs/images that this draws, with what belongs in it now."""
    steps = read_steps(GROUP.read_text(encoding="utf-8"))
    return {"folders.svg": draw_layers(read_layers()), "run.svg": draw_steps(steps)}


if __name__ == "__main__":
    for name, content in draw().items():
        (IMAGES / name).write_text(content, encoding="utf-8")
