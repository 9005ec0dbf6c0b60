"""Which names a statement reads and writes, and which of them are read later.

The analysis runs backwards over the structured program that `jumps` leaves: A. Aho, M. Lam, R. Sethi and
J. Ullman, "Compilers", 2nd edition, section 9.2.5.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from dataflow.autograph.jumps import SCOPES


def dotted(node: ast.AST) -> str:
    """``self.a.b`` as text; "" for anything but names and attributes of such."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def written(nodes: Iterable[Any]) -> list[str]:
    """Names and attributes (``self.x``) that statements assign to, in order; not those within functions."""
    found: dict[str, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = None
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for inner in ast.walk(node):
                if isinstance(inner, ast.NamedExpr):
                    found[inner.target.id] = None
            return
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            name = dotted(node)
            if name:
                found[name] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            found[node.id] = None
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).partition(".")[0]] = None
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found[node.rest] = None
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return [n for n in found if "." not in n or n.partition(".")[0] not in found]


def read(node: Any) -> set[str]:
    """Names that are read in ``node``, those of functions within included, but for parameters of lambdas."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        found |= read(child)
    if isinstance(node, ast.Lambda):
        return found - {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    return found


def captured(body: list[ast.stmt]) -> set[str]:
    """Names that functions within read, at a time that is not known."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, SCOPES):
                found |= read(node)
    return found


class Liveness:
    """Notes on each branch what is read after it, on each loop what is read at its head: ``live_out``."""

    def __init__(self, always: set[str]) -> None:
        self._always = always

    def block(self, body: list[ast.stmt], out: set[str]) -> set[str]:
        for node in reversed(body):
            out = self._statement(node, out)
        return out

    def _statement(self, node: Any, out: set[str]) -> set[str]:
        out = out | self._always
        if isinstance(node, ast.If):
            setattr(node, "live_out", out)  # noqa: B010 - syntax trees declare no such field
            return read(node.test) | self.block(node.body, out) | self.block(node.orelse, out)
        if isinstance(node, ast.While):
            return self._loop(node, out, read(node.test), set())
        if isinstance(node, ast.For):
            ends = getattr(node, "ends", None)
            flags = read(ends) if ends is not None else set()
            targets = {n for n in written([node.target]) if "." not in n}
            return self._loop(node, out, flags, targets) | read(node.iter) | read(node.target)
        if isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            return self._try(node, out)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            before = self.block(node.body, out)
            for item in reversed(node.items):
                if item.optional_vars is not None:
                    before -= {n for n in written([item.optional_vars]) if "." not in n}
                before |= read(item)
            return before | self._always
        if isinstance(node, ast.Match):
            inside = set(out)
            for case in node.cases:
                inside |= self.block(case.body, out) | read(case)
            return inside | read(node.subject)
        if isinstance(node, (ast.Return, ast.Raise)):
            return read(node) | self._always
        kills = {n for n in written([node]) if "." not in n}
        reads = read(node)
        if isinstance(node, ast.AugAssign):
            reads |= kills
        return (out - kills) | reads

    def _loop(self, node: Any, out: set[str], reads: set[str], targets: set[str]) -> set[str]:
        head = out | reads
        while True:
            more = head | (self.block(node.body, head) - targets)
            if more == head:
                break
            head = more
        node.live_out = head
        return head

    def _try(self, node: Any, out: set[str]) -> set[str]:
        last = self.block(node.finalbody, out)
        handled = set(last)
        for handler in node.handlers:
            handled |= self.block(handler.body, last)
            if handler.type is not None:
                handled |= read(handler.type)
        before = self._always
        self._always = before | handled  # any statement of the body may be the last
        inside = self.block(node.body, self.block(node.orelse, last))
        self._always = before
        return inside | handled
