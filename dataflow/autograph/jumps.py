"""`break`, `continue` and `return` within branches and loops, lowered to flags and conditions."""

from __future__ import annotations

import ast
from typing import Any

from dataflow.autograph.source import ConversionError

DO_RETURN, RETVAL = "ag__do_return", "ag__retval"
#: What begins a new function or class: jumps in it are its own.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_JUMPS = (ast.Return, ast.Break, ast.Continue)
LOOPS = (ast.While, ast.For)
#: What has a line.
LOCATED = (ast.stmt, ast.expr, ast.arg, ast.keyword, ast.alias, ast.excepthandler, ast.pattern)


def lower_jumps(body: list[ast.stmt]) -> list[ast.stmt]:
    """A function's statements in which the only ``return`` left is the last one."""
    body = _with_rest_in_branches(body)
    lowering = _Lowering(returns=_has_inner_return(body))
    if lowering.returns and not _always_jumps(body):
        end = ast.Return(value=ast.Constant(value=None))
        body = _with_rest_in_branches([*body, ast.copy_location(end, body[-1])])
    lowered, _ = lowering.block(body, None)
    if not lowering.returns:
        return lowered
    undefined = snippet("ag__.Undefined('the return value')")
    start = [_assign(DO_RETURN, ast.Constant(value=False)), _assign(RETVAL, undefined)]
    end = ast.Return(value=ast.Name(id=RETVAL, ctx=ast.Load()))
    for node in start:
        place(node, body[0])
    return [*start, *lowered, place(end, body[-1])]


def place(node: Any, like: ast.AST) -> Any:
    """``node`` with all that is in it and has no line, at the line of ``like``."""
    for inner in ast.walk(node):
        if isinstance(inner, LOCATED) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, like)
    return node


def snippet(text: str) -> Any:
    """An expression of this text that has no lines yet: `place` gives it those of the user's."""
    expression = ast.parse(text, mode="eval").body
    forget_lines(expression)
    return expression


def forget_lines(node: ast.AST) -> None:
    """Takes the lines away from ``node`` and all that is in it."""
    for inner in ast.walk(node):
        for field in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
            if hasattr(inner, field):
                delattr(inner, field)


def _has_inner_return(body: list[ast.stmt]) -> bool:
    outer = body[:-1] if isinstance(body[-1], ast.Return) else body
    return any(_contains(s, (ast.Return,)) for s in outer)


def _contains(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether such a statement is in ``node``; of ``break`` and ``continue``, one of its own."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, (*SCOPES, ast.expr)):
        return False
    children = ast.iter_child_nodes(node)
    return any(
        _contains(c, kinds if not isinstance(node, LOOPS) else _of_loops(kinds)) for c in children
    )


def _of_loops(kinds: tuple[type[ast.AST], ...]) -> tuple[type[ast.AST], ...]:
    return tuple(k for k in kinds if k is ast.Return)


def _always_jumps(body: list[ast.stmt]) -> bool:
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (*_JUMPS, ast.Raise)):
        return True
    if isinstance(last, ast.With):
        return _always_jumps(last.body)
    return isinstance(last, ast.If) and _always_jumps(last.body) and _always_jumps(last.orelse)


def _with_rest_in_branches(body: list[ast.stmt]) -> list[ast.stmt]:
    """``if a: return x`` and what follows as ``if a: return x`` ``else:`` what follows."""
    result = []
    for number, node in enumerate(body):
        rest = body[number + 1 :]
        result.append(node)
        if isinstance(node, SCOPES):
            continue
        moved = False
        if isinstance(node, ast.If) and rest and _contains(node, _JUMPS):
            if _always_jumps(node.body):
                node.orelse, moved = [*node.orelse, *rest], True
            elif _always_jumps(node.orelse):
                node.body, moved = [*node.body, *rest], True
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                setattr(node, field, _with_rest_in_branches(block))
        for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            part.body = _with_rest_in_branches(part.body)
        if moved or isinstance(node, _JUMPS):
            break
    return result


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)


def no_flag_is_set(flags: set[str]) -> ast.expr:
    """``not a and not b`` for flags a and b."""
    tests: list[ast.expr] = [
        ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=f, ctx=ast.Load())) for f in sorted(flags)
    ]
    return tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests)


class _Lowering:
    def __init__(self, returns: bool) -> None:
        self.returns = returns
        self._loops = 0

    def block(self, body: list[ast.stmt], loop: int | None) -> tuple[list[ast.stmt], set[str]]:
        """The statements, and the flags that they may set."""
        result: list[ast.stmt] = []
        every: set[str] = set()
        for number, node in enumerate(body):
            lowered, flags = self._statement(node, loop)
            result += lowered
            every |= flags
            rest = body[number + 1 :]
            if isinstance(node, _JUMPS):
                break
            if flags and rest:
                after, more = self.block(rest, loop)
                result.append(_guard(flags, after, rest[0]))
                return result, every | more
        return result, every

    def _statement(self, node: ast.stmt, loop: int | None) -> tuple[list[ast.stmt], set[str]]:
        if isinstance(node, ast.Return) and self.returns:
            value = node.value or ast.Constant(value=None)
            both = [_assign(DO_RETURN, ast.Constant(value=True)), _assign(RETVAL, value)]
            return [place(s, node) for s in both], {DO_RETURN}
        if isinstance(node, (ast.Break, ast.Continue)):
            flag = f"ag__{'break' if isinstance(node, ast.Break) else 'continue'}_{loop}"
            return [place(_assign(flag, ast.Constant(value=True)), node)], {flag}
        if isinstance(node, SCOPES):
            return [node], set()
        if isinstance(node, LOOPS):
            return self._loop(node, loop)
        if isinstance(node, ast.Try):
            return [node], self._try(node, loop)
        flags: set[str] = set()
        parts: list[Any] = [node, *getattr(node, "cases", ())]
        for part in parts:
            for field in ("body", "orelse"):
                block = getattr(part, field, None)
                if isinstance(block, list) and block:
                    lowered, found = self.block(block, loop)
                    setattr(part, field, lowered)
                    flags |= found
        return [node], flags

    def _try(self, node: ast.Try, loop: int | None) -> set[str]:
        for inner in node.finalbody:
            if _contains(inner, _JUMPS):
                raise ConversionError(
                    f"line {inner.lineno}: a break, continue or return in finally is not rewritten."
                )
        node.body, flags = self.block(node.body, loop)
        for handler in node.handlers:
            handler.body, found = self.block(handler.body, loop)
            flags = flags | found
        if node.orelse:
            after, found = self.block(node.orelse, loop)
            node.orelse = [_guard(flags, after, node.orelse[0])] if flags else after
            flags = flags | found
        return flags

    def _loop(self, node: Any, outer: int | None) -> tuple[list[ast.stmt], set[str]]:
        self._loops += 1
        number = self._loops
        stops, goes_on = f"ag__break_{number}", f"ag__continue_{number}"
        after = node.orelse
        node.body, flags = self.block(node.body, number)
        node.orelse = []
        if goes_on in flags:
            node.body = [
                place(_assign(goes_on, ast.Constant(value=False)), node.body[0]),
                *node.body,
            ]
        ends = flags - {goes_on}
        node.ends = None
        if ends:
            test = place(no_flag_is_set(ends), node)
            if hasattr(node, "iter"):
                node.ends = test
            else:
                both = ast.BoolOp(op=ast.And(), values=[test, node.test])
                node.test = place(both, node.test)
        result: list[ast.stmt] = [node]
        if stops in flags:
            result.insert(0, place(_assign(stops, ast.Constant(value=False)), node))
        flags = flags - {goes_on, stops}
        if after:
            lowered, more = self.block(after, outer)
            result.append(_guard(ends, lowered, after[0]) if ends else _always(lowered, after[0]))
            flags |= more
        return result, flags


def _guard(flags: set[str], body: list[ast.stmt], like: ast.AST) -> ast.stmt:
    guarded: ast.stmt = place(ast.If(test=no_flag_is_set(flags), body=body, orelse=[]), like)
    return guarded


def _always(body: list[ast.stmt], like: ast.AST) -> ast.stmt:
    """Several statements as one."""
    always: ast.stmt = place(ast.If(test=ast.Constant(value=True), body=body, orelse=[]), like)
    return always
