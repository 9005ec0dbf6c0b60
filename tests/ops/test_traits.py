"""What ops declare of themselves is what their kernels do."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator
from pathlib import Path

import dataflow.kernels
from dataflow.graph.registry import all_ops
from dataflow.kernels.registry import all_kernels

KERNELS = Path(dataflow.kernels.__file__).parent


@functools.cache
def _functions() -> list[tuple[str, ast.FunctionDef]]:
    """The functions and methods of the kernel files, with the file's name."""
    found = []
    for path in sorted(KERNELS.glob("*.py")):
        todo: list[ast.stmt] = ast.parse(path.read_text()).body
        for node in todo:
            if isinstance(node, ast.ClassDef):
                todo.extend(node.body)
            elif isinstance(node, ast.FunctionDef):
                found.append((path.stem, node))
    return found


def _calls(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None, list[ast.expr]]]:
    """The name of each function called, the object whose method it is, and the arguments."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.func.attr, node.func.value, node.args
            elif isinstance(node.func, ast.Name):
                yield node.func.id, None, node.args


def _is_context(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id in ("context", "ctx")


def _draws_elements(function: ast.FunctionDef) -> bool:
    """Whether the kernel itself, and not a function that it returns, takes elements of a dataset."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(".next")
            and not node.args
        ):
            return True
        if isinstance(node, ast.For) and ast.unparse(node.iter).endswith(".iterate()"):
            return True
        todo.extend(ast.iter_child_nodes(node))
    return False


@functools.cache
def _waiting() -> frozenset[tuple[str, str]]:
    """File and name of the functions that wait on their context or call a function of the user's.

    Those that call one of these, and those that take elements of a dataset, are among them.
    """
    found: set[tuple[str, str]] = set()
    methods = {"wait"}

    def waits(file: str, function: ast.FunctionDef) -> bool:
        for name, of, arguments in _calls(function):
            if of is None:
                if name == "find_function" or (file, name) in found:
                    return True
            elif name in methods and any(map(_is_context, [of, *arguments])):
                return True
        return file == "dataset" and _draws_elements(function)

    before = -1
    while len(found) > before:
        before = len(found)
        for file, function in _functions():
            if waits(file, function):
                found.add((file, function.name))
                methods.add(function.name)
    return frozenset(found)


def _where(op_type: str) -> tuple[str, str]:
    kernel = next(k for (t, _), k in all_kernels().items() if t == op_type)
    function = inspect.unwrap(kernel.function)
    return function.__module__.rpartition(".")[2], function.__name__


def test_ops_whose_kernels_wait_block() -> None:
    ops = all_ops()
    types = {op_type for op_type, _ in all_kernels()}
    waiting = {t for t in types if _where(t) in _waiting()}
    assert len(waiting) >= 15  # the search finds something
    assert waiting == {t for t in types if ops[t].blocks}
