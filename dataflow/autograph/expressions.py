"""Expressions as AutoGraph writes them: calls, `and`, `or`, `not`, `a if b else c`, `a < b < c`."""

from __future__ import annotations

import ast
from typing import Any

from dataflow.autograph.source import ConversionError

#: Called as they are: what they see is the frame that they are called in.
_PLAIN = {"locals", "globals", "vars", "dir", "eval", "exec", "print", "super", "breakpoint"}


def operator(name: str, *arguments: ast.expr) -> ast.Call:
    """``ag__.name(arguments)``."""
    function = ast.Attribute(value=_name("ag__"), attr=name, ctx=ast.Load())
    return ast.Call(func=function, args=list(arguments), keywords=[])


def _name(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def later(expression: ast.expr) -> ast.Lambda:
    """``lambda: expression``."""
    arguments = ast.arguments(
        posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[], vararg=None, kwarg=None
    )
    return ast.Lambda(args=arguments, body=expression)


def _assigns(*nodes: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for node in nodes for n in ast.walk(node))


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function.

    ``first`` is its first argument, ``owner`` the class it was written in, or "". Reads of the names in
    ``unsure`` say when they come before any assignment.
    """

    def __init__(self, first: str, owner: str, unsure: set[str]) -> None:
        self.first = first
        self.owner = owner.lstrip("_")
        self.unsure = unsure

    def mangled(self, name: str) -> str:
        """A private name of a class (``__x``) as Python keeps it."""
        private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if private else name

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self.mangled(node.id)
        if isinstance(node.ctx, ast.Load) and node.id in self.unsure:
            return ast.copy_location(operator("ld", node), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        node.attr = self.mangled(node.attr)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "ag__":
            return node  # written here
        if isinstance(function, ast.Name) and function.id in _PLAIN:
            for field in ("args", "keywords"):
                setattr(node, field, [self.visit(a) for a in getattr(node, field)])
            if function.id == "super" and not node.args:
                node.args = [_name("__class__"), _name(self.first)]
            return node
        self.generic_visit(node)
        arguments = ast.Tuple(elts=node.args, ctx=ast.Load())
        keywords: ast.expr = ast.Constant(value=None)
        if node.keywords:
            keywords = ast.Dict(
                keys=[None if k.arg is None else ast.Constant(value=k.arg) for k in node.keywords],
                values=[k.value for k in node.keywords],
            )
        return ast.copy_location(operator("call", node.func, arguments, keywords), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if _assigns(*node.values[1:]):
            return self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        values = [later(self.visit(v)) for v in node.values]
        return ast.copy_location(operator(name, *values), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(operator("not_", node.operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if _assigns(node.body, node.orelse):
            return self.generic_visit(node)
        self.generic_visit(node)
        return ast.copy_location(
            operator("if_exp", node.test, later(node.body), later(node.orelse)), node
        )

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1 or _assigns(node):
            return node
        return ast.copy_location(_chain(node), node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        if not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            node.body = self.visit(node.body)
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        return node

    def visit_Await(self, node: ast.Await) -> Any:
        raise ConversionError(f"line {node.lineno}: await is not rewritten.")


def _chain(node: ast.Compare) -> ast.expr:
    """``a < b < c`` as ``(lambda m: and_(lambda: a < m, lambda: m < c))(b)``: ``b`` is computed once."""
    if len(node.ops) == 1:
        return node
    middle = f"ag__middle_{len(node.ops)}"
    first = ast.Compare(left=node.left, ops=node.ops[:1], comparators=[_name(middle)])
    rest = ast.Compare(left=_name(middle), ops=node.ops[1:], comparators=node.comparators[1:])
    function = later(operator("and_", later(first), later(_chain(rest))))
    function.args.args = [ast.arg(arg=middle)]
    return ast.Call(func=function, args=[node.comparators[0]], keywords=[])
