"""Parameters of the functions that course code calls: names, order and defaults of TensorFlow 1.

`signatures.txt` holds one call per line, ``...`` for a default that is an object of TensorFlow's
own. Ours may go on after TensorFlow's last parameter (older spellings), and may have a default
where TensorFlow has none.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf

LINES = (Path(__file__).parent / "signatures.txt").read_text().splitlines()


def expected(line: str) -> tuple[str, list[str], list[str | None]]:
    """The symbol, its parameters, and their defaults as source text."""
    symbol, _, rest = line.partition("(")
    arguments = ast.parse(f"def f({rest}: pass").body[0].args  # type: ignore[attr-defined]
    names = [a.arg for a in arguments.args]
    defaults: list[str | None] = [None] * (len(names) - len(arguments.defaults))
    defaults += [ast.unparse(d) for d in arguments.defaults]
    return symbol, names, defaults


def resolve(symbol: str) -> Any:
    target: Any = tf
    for part in symbol.split("."):
        target = getattr(target, part)
    return target


def as_text(default: Any) -> str:
    return repr(list(default)) if isinstance(default, tuple) else repr(default)


@pytest.mark.parametrize("line", LINES, ids=[line.partition("(")[0] for line in LINES])
def test_parameters_are_tensorflows(line: str) -> None:
    symbol, names, defaults = expected(line)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [
        p for p in inspect.signature(resolve(symbol)).parameters.values() if p.kind in positional
    ]
    assert [p.name for p in parameters][: len(names)] == names
    for parameter, default in zip(parameters, defaults, strict=False):
        if default is None:
            continue
        assert parameter.default is not inspect.Parameter.empty, f"{parameter.name} is required"
        if default != "Ellipsis" and default != "...":
            assert as_text(parameter.default) == default, parameter.name


def test_the_table_is_not_empty() -> None:
    assert len(LINES) > 250
