"""Small faults drawn from sources: a flipped comparison, a number off by one, a call left out, a wrong axis.

Each is a piece of text in a file and what stands there instead, so that the same fault can be made in every tree that
has this text.
"""

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FLIPPED = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
AXES = ("axis", "dim", "axes", "dims")
REORDERING = ("transpose", "permute", "moveaxis", "swapaxes")


@dataclass(frozen=True)
class Fault:
    """kind: one of KINDS. path: of the file in the tree. column, end: where in the line `before` stands, in bytes."""

    kind: str
    path: str
    line: int
    column: int
    end: int
    before: str
    after: str

    def put_into(self, tree: Path) -> None:
        """Make the fault in a tree; ValueError if the text is not there."""
        path = tree / self.path
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        line = lines[self.line - 1] if self.line <= len(lines) else b""
        if line[self.column : self.end] != self.before.encode():
            raise ValueError(f"{self.path}:{self.line} must hold {self.before!r}")
        lines[self.line - 1] = line[: self.column] + self.after.encode() + line[self.end :]
        path.write_bytes(b"".join(lines))


def draw(tree: Path, folders: tuple[str, ...], each: int, seed: int) -> list[Fault]:
    """So many faults of each folder of the package, kind by kind; the same for the same seed and sources."""
    drawn = []
    for folder in folders:
        chance = random.Random(f"{seed} {folder}")
        possible = list_faults(tree, folder)
        kinds = [kind for kind in KINDS if any(fault.kind == kind for fault in possible)]
        chance.shuffle(kinds)
        for number in range(each):
            kind = kinds[number % len(kinds)]
            fault = chance.choice([fault for fault in possible if fault.kind == kind and fault not in drawn])
            drawn.append(fault)
    return drawn


def list_faults(tree: Path, folder: str) -> list[Fault]:
    """All that can be made in a folder of the package."""
    root = tree / "src" / "fewpoint" / folder
    paths = sorted(path for path in root.rglob("*.py") if path.name != "__init__.py")
    return [fault for path in paths for fault in list_in_file(path.relative_to(tree).as_posix(), path.read_bytes())]


def list_in_file(path: str, source: bytes) -> list[Fault]:
    lines, found = source.splitlines(), []
    for node in walk(ast.parse(source)):
        if node.lineno != node.end_lineno:
            continue
        start, end = node.col_offset, node.end_col_offset or 0
        before = lines[node.lineno - 1][start:end].decode()
        changed = {kind: change(node) for kind, change in KINDS.items()}
        found += [
            Fault(kind, path, node.lineno, start, end, before, ast.unparse(after))
            for kind, after in changed.items()
            if after is not None
        ]
    return found


def walk(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """All nodes that a program computes: no annotations, and no text with values in it, whose places are not known."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from walk(child)


def flip(node: ast.AST) -> ast.AST | None:
    """`a < b` as `a >= b`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return ast.Compare(node.left, [FLIPPED[type(node.ops[0])]()], node.comparators)
    return None


def shift(node: ast.AST) -> ast.AST | None:
    """`a[1:]` as `a[2:]`, `n - 1` as `n - 2`, `range(n)` as `range(n + 1)`, `n > 3` as `n > 4`."""
    match node:
        case ast.Subscript(slice=number) if _is_number(number):
            return ast.Subscript(node.value, _add(number), node.ctx)
        case ast.Subscript(slice=ast.Slice(lower, upper, step)) if _is_number(lower) or _is_number(upper):
            lower, upper = (_add(lower), upper) if _is_number(lower) else (lower, _add(upper))
            return ast.Subscript(node.value, ast.Slice(lower, upper, step), node.ctx)
        case ast.BinOp(left, ast.Add() | ast.Sub(), right) if _is_number(right):
            return ast.BinOp(left, node.op, _add(right))
        case ast.Call(ast.Name("range"), [only], []):
            return ast.Call(node.func, [_add(only)], [])
        case ast.Compare(left, [op], [right]) if _is_number(right) and not isinstance(op, ast.Is | ast.IsNot):
            return ast.Compare(left, [op], [_add(right)])
    return None


def drop(node: ast.AST) -> ast.AST | None:
    """A statement that is a call as `pass`."""
    return ast.Pass() if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None


def turn(node: ast.AST) -> ast.AST | None:
    """`axis=0` as `axis=1`, all others as 0; `a.shape[1]` as `a.shape[0]`; `permute(2, 0, 1)` as `permute(0, 2, 1)`."""
    match node:
        case ast.Call(keywords=keywords) if any(_is_axis(each) for each in keywords):
            named = [ast.keyword(each.arg, _turned(each.value)) if _is_axis(each) else each for each in keywords]
            return ast.Call(node.func, node.args, named)
        case ast.Subscript(ast.Attribute(attr="shape"), slice) if _is_number(slice):
            return ast.Subscript(node.value, _turned(slice), node.ctx)
        case ast.Call(ast.Attribute(attr=name), args) if name in REORDERING and sum(map(_is_number, args)) > 1:
            *before, one, other = args[: len(args) - sum(map(_is_number, args)) + 2]
            return ast.Call(node.func, [*before, other, one, *args[len(before) + 2 :]], node.keywords)
    return None


KINDS: dict[str, Callable[[ast.AST], ast.AST | None]] = {
    "flipped comparison": flip,
    "off by one": shift,
    "dropped call": drop,
    "wrong axis": turn,
}


def _is_number(node: ast.AST | None) -> bool:
    """A whole number as it stands in the source, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_axis(keyword: ast.keyword) -> bool:
    return keyword.arg in AXES and _is_number(keyword.value)


def _turned(number: ast.expr) -> ast.expr:
    return ast.Constant(1 if ast.literal_eval(number) == 0 else 0)


def _add(node: ast.expr | None) -> ast.expr:
    """One more, as a number if it is one."""
    if _is_number(node):
        return ast.Constant(ast.literal_eval(node) + 1)  # type: ignore[arg-type]
    return ast.BinOp(node, ast.Add(), ast.Constant(1))  # type: ignore[arg-type]
