"""Functions of several tasks in one thread: each is left at every step that it makes.

`steps_of` rewrites a function as a generator, which hands out each call ``x.run(...)``,
``time.sleep(...)`` and ``call.result(...)`` of its body instead of making it. Who drives it makes the
call when it can end, and has other tasks run meanwhile.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

#: The methods and functions that a body is left at.
_LEFT_AT = ("run", "sleep", "result")


class Asked(NamedTuple):
    """A call that a function wants to have made."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]

    def make(self) -> Any:
        """Make the call."""
        return self.function(*self.arguments, **self.keywords)


Steps = Callable[..., Generator[Asked, Any, Any]]


def steps_of(function: Callable[..., Any]) -> Steps:
    """A generator that does what ``function`` does, and yields the calls that may have to wait.

    A function whose source is not at hand (it was typed into a plain prompt, or is compiled) yields
    one call: itself.
    """
    if isinstance(function, functools.partial):
        inner = steps_of(function.func)
        return functools.partial(inner, *function.args, **function.keywords)
    try:
        return _rewritten(function)
    except (AttributeError, OSError, TypeError, SyntaxError, ValueError):
        return functools.partial(_whole, function)


def _whole(
    function: Callable[..., Any], *arguments: object, **keywords: object
) -> Generator[Asked, Any, Any]:
    return (yield Asked(function, arguments, keywords))


def _rewritten(function: Callable[..., Any]) -> Steps:
    code = function.__code__
    lines, first = inspect.getsourcelines(function)
    (definition,) = ast.parse(textwrap.dedent("".join(lines))).body
    if not isinstance(definition, ast.FunctionDef) or inspect.isgeneratorfunction(function):
        raise ValueError("no plain function")
    rewriter = _Rewriter()
    body: list[Any] = [rewriter.visit(statement) for statement in definition.body]
    definition.body = body
    if rewriter.assigns_outside:
        raise ValueError("it assigns to variables of the function around it")
    if not rewriter.num_calls:
        return functools.partial(_whole, function)
    definition.decorator_list = []
    definition.returns = None
    given = definition.args
    given.defaults = [ast.Constant(None) for _ in given.defaults]
    given.kw_defaults = [d and ast.Constant(None) for d in given.kw_defaults]
    for argument in ast.walk(given):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    # Variables of the enclosing function become parameters.
    outer = ast.parse(f"def around({', '.join(code.co_freevars)}):\n    pass\n    return function")
    around = outer.body[0]
    assert isinstance(around, ast.FunctionDef)
    definition.name = "function"
    around.body[0] = definition
    ast.increment_lineno(definition, first - 1)
    ast.fix_missing_locations(outer)
    names: dict[str, Any] = {}
    exec(compile(outer, code.co_filename, "exec"), function.__globals__, names)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    made: Any = names["around"](*cells)
    made.__defaults__ = function.__defaults__
    made.__kwdefaults__ = function.__kwdefaults__
    made.__name__, made.__qualname__ = function.__name__, function.__qualname__
    return made  # type: ignore[no-any-return]


_INNER = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


class _Rewriter(ast.NodeTransformer):
    """Yields calls in place of making them; leaves functions within the body alone."""

    def __init__(self) -> None:
        self.num_calls = 0
        self.assigns_outside = False

    def visit(self, node: ast.AST) -> ast.AST:
        """Rewrite a node, but for what has a body of its own."""
        return node if isinstance(node, _INNER) else super().visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        self.assigns_outside = True
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in _LEFT_AT:
            return node
        self.num_calls += 1
        keywords = ast.Dict(
            [None if k.arg is None else ast.Constant(k.arg) for k in node.keywords],
            [k.value for k in node.keywords],
        )
        arguments = ast.Tuple(node.args, ast.Load())
        # A plain tuple: the body knows no names of this module.
        asked = ast.Tuple([node.func, arguments, keywords], ast.Load())
        return ast.copy_location(ast.Yield(asked), node)
