"""Where a function's source is, as a syntax tree with the lines of its file."""

from __future__ import annotations

import ast
import functools
import linecache
import site
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType


class ConversionError(NotImplementedError):
    """A function that AutoGraph cannot rewrite: what stands in the way, and on which line."""


@functools.lru_cache(32)
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}
    folders |= {*site.getsitepackages(), str(Path(__file__).resolve().parents[1])}
    return tuple(f"{folder.rstrip('/')}/" for folder in folders)


def is_of_a_library(code: CodeType) -> bool:
    """Whether the code came with Python, with an installed package, or with this engine."""
    return code.co_filename.startswith(_library_folders()) or code.co_filename.startswith("<frozen")


def can_be_converted(function: object) -> bool:
    """Whether calls of ``function`` are converted too: a user's own, with source, and no generator."""
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    suspends = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines
    return not code.co_flags & suspends and not is_of_a_library(code)


def tree_of(code: CodeType) -> ast.FunctionDef | ast.Lambda:
    """The ``def`` or ``lambda`` that this code was compiled from; raises `ConversionError`."""
    text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = _tree(text)
    except SyntaxError as e:
        raise ConversionError(f"{code.co_filename} cannot be parsed: {e}") from None
    found = list(_candidates(tree, code))
    if not found:
        raise ConversionError(
            f"the source of {code.co_name}() is not available: {code.co_filename}:{code.co_firstlineno} "
            "does not hold it. Write the function in a file, or in a notebook's cell."
        )
    return min(found, key=_extent)


def _extent(node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, (ast.FunctionDef, ast.Lambda))
    lines = (node.end_lineno or 0) - node.lineno
    return lines, (node.end_col_offset or 0) - node.col_offset


def _candidates(tree: ast.Module, code: CodeType) -> Iterator[ast.FunctionDef | ast.Lambda]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if node.name == code.co_name and first == code.co_firstlineno:
                yield node
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and _holds(node, code):
            yield node


def _holds(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the code's instructions stand within the lambda's expression."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    count = code.co_argcount + code.co_kwonlyargcount
    if tuple(a.arg for a in every) != code.co_varnames[:count]:
        return False
    start = (node.body.lineno, node.body.col_offset)
    end = (node.body.end_lineno or 0, node.body.end_col_offset or 0)
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line and end_line and column is not None and end_column
    ]
    return bool(places) and all(start <= first and last <= end for first, last in places)
