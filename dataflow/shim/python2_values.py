"""What a Python 2 program means by ``/``, ``range``, ``map`` and ``d.keys()``, which no spelling tells.

`as_python2` changes the tree of a program that `dataflow.shim.python2` has translated: calls of the names
below come here, and so does ``/`` unless the file says ``from __future__ import division``.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import sys
import types
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from itertools import zip_longest
from typing import Any

import numpy as np

__all__ = ["as_python2"]

_HERE = "dataflow.shim.python2_values"
#: Calls whose results were lists.
_LISTS = frozenset({"range", "map", "filter", "zip"})
#: Functions that Python 3 has not, or not among the built-in ones.
_FUNCTIONS = frozenset({"cmp", "execfile", "file", "reduce", "reload"})
#: Longer ranges stay ranges: only a short one is likely to be shuffled or added to.
_LONGEST_LIST = 1_000_000


def as_python2(tree: ast.Module) -> ast.Module:
    """The same tree with Python 2's values; lines stay."""
    change = _Values(not _has_true_division(tree), set(_bound(tree)))
    tree = change.visit(tree)
    if change.used:
        names = [ast.alias(name, f"_python2_{name}") for name in sorted(change.used)]
        tree.body.insert(_after_docstring(tree), ast.ImportFrom(_HERE, names, 0))
    return ast.fix_missing_locations(tree)


def _has_true_division(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "division" for alias in node.names)
        for node in tree.body
    )


def _bound(tree: ast.AST) -> Iterator[str]:
    """Names that the program gives a meaning of its own."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _after_docstring(tree: ast.Module) -> int:
    at = int(ast.get_docstring(tree, clean=False) is not None)
    while at < len(tree.body):
        node = tree.body[at]
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        at += 1
    return at


class _Values(ast.NodeTransformer):
    def __init__(self, divides: bool, own: set[str]) -> None:
        self.divides = divides
        self.names = _LISTS - own
        self.functions = _FUNCTIONS - own
        self.used: set[str] = set()

    def _call(self, name: str, arguments: list[ast.expr], at: ast.AST) -> Any:
        self.used.add(name)
        called = ast.Call(ast.Name(f"_python2_{name}", ast.Load()), arguments, [])
        return ast.copy_location(called, at)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if self.divides and isinstance(node.op, ast.Div):
            return self._call("divide", [node.left, node.right], node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not (self.divides and isinstance(node.op, ast.Div)):
            return node
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        value = self._call("divide_in_place", [read, node.value], node)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_For(self, node: ast.For) -> Any:
        return self._loop(node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        return self._loop(node)

    def _loop(self, node: Any) -> Any:
        """What a loop runs over needs no list."""
        counted = _calls(node.iter) in self.names
        if counted:
            function, node.iter.func = node.iter.func, ast.Name("iter", ast.Load())
        self.generic_visit(node)
        if counted:
            node.iter.func = function
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if (name := _calls(node)) in self.names and not node.keywords:
            return self._call(name, node.args, node)
        if name == "str" and len(node.args) in (2, 3) and not node.keywords:  # it was unicode(...)
            return self._call("text", node.args, node)
        if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
            if node.func.attr in ("keys", "values", "items"):
                return self._call("listed", [node], node)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.functions and isinstance(node.ctx, ast.Load):
            self.used.add(node.id)
            return ast.copy_location(ast.Name(f"_python2_{node.id}", node.ctx), node)
        return node


def _calls(node: ast.AST) -> str:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if called else ""  # type: ignore[attr-defined]


# ---- what the calls do --------------------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    if isinstance(value, (builtins.int, np.integer, np.bool_)):
        return True
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "biu"
    return bool(getattr(dtype, "is_integer", False))  # a tensor's


def text(value: Any, encoding: str, errors: str = "strict") -> builtins.str:
    """``unicode(value, encoding)``: bytes decoded, and text, which was bytes in Python 2, as it is."""
    if isinstance(value, builtins.str):
        return value
    return builtins.str(value, encoding, errors)


def divide(a: Any, b: Any) -> Any:
    """``a / b``, rounded down where both are whole numbers."""
    return a // b if _is_whole(a) and _is_whole(b) else a / b


def divide_in_place(a: Any, b: Any) -> Any:
    """``a /= b``, rounded down where both are whole numbers."""
    if _is_whole(a) and _is_whole(b):
        a //= b
    else:
        a /= b
    return a


def range(*bounds: Any) -> Any:
    """The numbers as a list."""
    numbers = builtins.range(*bounds)
    return list(numbers) if len(numbers) <= _LONGEST_LIST else numbers


def map(function: Callable[..., Any] | None, *rows: Iterable[Any]) -> list[Any]:
    """The results as a list; None for ``function`` keeps the arguments."""
    if function is None:
        return list(rows[0]) if len(rows) == 1 else list(zip_longest(*rows))
    return list(builtins.map(function, *rows))


def filter(function: Callable[[Any], Any] | None, rows: Any) -> Any:
    """What passes, as a list; of a text a text, of a tuple a tuple."""
    kept = builtins.filter(function, rows)
    if isinstance(rows, str):
        return "".join(kept)
    return tuple(kept) if isinstance(rows, tuple) else list(kept)


def zip(*rows: Iterable[Any]) -> list[Any]:
    """The rows side by side, as a list."""
    return list(builtins.zip(*rows))  # noqa: B905


def listed(view: Any) -> Any:
    """A dictionary's keys, values or items as a list; anything else as it is."""
    return list(view) if isinstance(view, (KeysView, ValuesView, ItemsView)) else view


def cmp(a: Any, b: Any) -> int:
    """-1, 0 or 1: how the two are ordered."""
    return int(a > b) - int(a < b)


def reload(module: types.ModuleType) -> types.ModuleType:
    """The module, loaded again. ``reload(sys)`` brings ``sys.setdefaultencoding``, as it did."""
    if module is not sys:
        return importlib.reload(module)
    vars(sys).setdefault("setdefaultencoding", lambda name: None)  # it is UTF-8 in any case
    return module


def execfile(path: str, *scopes: dict[str, Any]) -> None:
    """Runs a file of Python 2 in the caller's namespace, or in those given."""
    from dataflow.shim.python2 import to_python3

    with open(path, encoding="utf-8") as text:
        tree = as_python2(ast.parse(to_python3(text.read()), path))
    scopes = scopes or (sys._getframe(1).f_globals,)
    exec(compile(tree, path, "exec", dont_inherit=True), *scopes)


file = open
reduce = functools.reduce
