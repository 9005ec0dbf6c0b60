"""A function's syntax tree with its branches and loops as calls of AutoGraph's operators.

A branch's statements become a function without arguments that assigns to the names of the function around
it (``nonlocal``); two more functions read and write those names, so that the operator can run a branch,
take the names' values, and put them back before it runs the other.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from dataflow.autograph.expressions import Expressions, later, operator
from dataflow.autograph.jumps import DO_RETURN, RETVAL, forget_lines, lower_jumps, place, snippet
from dataflow.autograph.liveness import Liveness, captured, dotted, written
from dataflow.autograph.source import ConversionError

#: A call among a loop's statements that says how the loop is built.
_OPTIONS = "set_loop_options"


def rewritten_lambda(node: ast.Lambda, owner: str) -> ast.Lambda:
    """The lambda with its expression rewritten."""
    node = copy.deepcopy(node)
    first = (*node.args.posonlyargs, *node.args.args)
    node.body = Expressions(first[0].arg if first else "", owner, set()).visit(node.body)
    node.args.defaults = [ast.Constant(value=None) for _ in node.args.defaults]
    node.args.kw_defaults = [d and ast.Constant(value=None) for d in node.args.kw_defaults]
    return node


def rewritten(node: ast.FunctionDef, owner: str, outermost: bool = True) -> ast.FunctionDef:
    """The function with its body rewritten, and without annotations.

    That of the user (``outermost``) loses its decorators and the values of its defaults, which the
    function has already. Raises `ConversionError` for what cannot be rewritten.
    """
    node = copy.deepcopy(node)
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    for argument in every:
        argument.annotation = None
    node.returns = None
    if outermost:
        node.decorator_list = []
        arguments.defaults = [ast.Constant(value=None) for _ in arguments.defaults]
        arguments.kw_defaults = [d and ast.Constant(value=None) for d in arguments.kw_defaults]
    positional = [*arguments.posonlyargs, *arguments.args]
    first = positional[0].arg if positional else ""
    node.body = _Function({a.arg for a in every}, first, owner).body(node.body)
    return node


class _Outer(ast.NodeVisitor):
    """The names that a function declares as global and as nonlocal; functions within left out."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        for statement in body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        pass

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        pass

    def visit_Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.nonlocals.update(node.names)


class _Function:
    def __init__(self, parameters: set[str], first: str, owner: str) -> None:
        self._parameters = parameters
        self._first = first
        self._owner = owner
        self._number = 0

    def body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        start = body[:1] if ast.get_docstring(ast.Module(body=body, type_ignores=[])) else []
        self._outer = _Outer(body)
        body = lower_jumps(body[len(start) :] or [place(ast.Pass(), body[0])])
        self._soft = captured(body)
        outside = self._outer.globals | self._outer.nonlocals
        Liveness(outside).block(body, set(outside))
        names = {n for n in written(self._branches(body)) if "." not in n}
        self._unsure = names - self._parameters - outside
        self._expressions = Expressions(self._first, self._owner, self._unsure)
        result = self._block(body)
        undefined = [
            ast.Assign(
                targets=[ast.Name(id=n, ctx=ast.Store())],
                value=operator("Undefined", ast.Constant(value=n)),
            )
            for n in sorted(self._unsure)
            if n not in (DO_RETURN, RETVAL)
        ]
        declared: list[ast.stmt] = []
        if self._outer.globals:
            declared.append(ast.Global(names=sorted(self._outer.globals)))
        if self._outer.nonlocals:
            declared.append(ast.Nonlocal(names=sorted(self._outer.nonlocals)))
        for node in [*declared, *undefined]:
            place(node, body[0])
        return [*start, *declared, *undefined, *result]

    def _branches(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """All statements in branches and loops, which become functions."""
        found: list[ast.stmt] = []
        for node in body:
            if isinstance(node, (ast.If, ast.While, ast.For)):
                found.append(node)
            elif not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
                for part in parts:
                    for field in ("body", "orelse", "finalbody"):
                        inner = getattr(part, field, None)
                        found += self._branches(inner) if isinstance(inner, list) else []
        return found

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for node in body:
            made = self._statement(node)
            for new in made:
                place(new, node)
            result += made
        return result or [place(ast.Pass(), body[0])] if body else result

    def _expression(self, node: Any) -> Any:
        return self._expressions.visit(node)

    def _statement(self, node: Any) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.While):
            return self._while(node)
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.FunctionDef):
            decorators = [self._expression(d) for d in node.decorator_list]
            if not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
                node = rewritten(node, self._owner, outermost=False)
            node.decorator_list = decorators
            return [node]
        if isinstance(node, (ast.ClassDef, ast.Pass)):
            return [node]
        if isinstance(node, (ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef)):
            raise ConversionError(f"line {node.lineno}: async is not rewritten.")
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            return []
        if isinstance(node, ast.Assert):
            message = node.msg or ast.Constant(value="")
            call = operator(
                "assert_stmt", self._expression(node.test), later(self._expression(message))
            )
            return [ast.Expr(value=call)]
        if isinstance(node, ast.Delete):
            return self._delete(node)
        if isinstance(node, ast.AnnAssign):
            if node.value is None:
                return []
            node = ast.Assign(targets=[node.target], value=node.value)
        before: list[ast.stmt] = []
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if self._expressions.mangled(node.target.id) in self._unsure:
                name = ast.Name(id=node.target.id, ctx=ast.Load())
                before = [ast.Expr(value=self._expression(name))]
        return [*before, self._others(node)]

    def _others(self, node: Any) -> ast.stmt:
        """A statement whose blocks, if any, stay where they are."""
        for field, value in ast.iter_fields(node):
            if field in ("body", "orelse", "finalbody"):
                setattr(node, field, self._block(value))
            elif field in ("handlers", "cases"):
                for part in value:
                    part.body = self._block(part.body)
                    for inner in ("type", "guard"):
                        if getattr(part, inner, None) is not None:
                            setattr(part, inner, self._expression(getattr(part, inner)))
            elif isinstance(value, list):
                setattr(
                    node,
                    field,
                    [self._expression(v) if isinstance(v, ast.AST) else v for v in value],
                )
            elif isinstance(value, ast.AST):
                setattr(node, field, self._expression(value))
        result: ast.stmt = node
        return result

    def _delete(self, node: ast.Delete) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self._unsure:
                name = self._expressions.mangled(target.id)
                value = operator("Undefined", ast.Constant(value=name))
                result.append(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value))
            else:
                result.append(ast.Delete(targets=[self._expression(target)]))
        return result

    # Branches and loops.

    def _function(
        self, role: str, names: list[str], body: list[ast.stmt], argument: str = ""
    ) -> Any:
        """A function that assigns to names of the one around it."""
        self._number += 1
        local = [n for n in names if "." not in n]
        declared: list[ast.stmt] = []
        inside = sorted(set(local) - self._outer.globals)
        if inside:
            declared.append(ast.Nonlocal(names=inside))
        outside = sorted(set(local) & self._outer.globals)
        if outside:
            declared.append(ast.Global(names=outside))
        made = ast.parse(f"def ag__{role}_{self._number}({argument}): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        forget_lines(made)
        made.body = [*declared, *body] or [ast.Pass()]
        return made

    def _state(self, names: list[str]) -> list[ast.stmt]:
        """``get_state`` and ``set_state`` of these names."""
        values: list[ast.expr] = []
        targets: list[ast.stmt] = []
        for number, name in enumerate(names):
            given = snippet(f"ag__values[{number}]")
            if "." in name:
                get = snippet(f"ag__.attribute(lambda: {name}, {name!r})")
                base, _, attribute = name.rpartition(".")
                owner = snippet(base)
                arguments = [owner, ast.Constant(value=attribute), given]
                targets.append(ast.Expr(value=operator("set_attribute", *arguments)))
            else:
                get = ast.Name(id=name, ctx=ast.Load())
                targets.append(
                    ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=given)
                )
            values.append(get)
        result = ast.Return(value=ast.Tuple(elts=values, ctx=ast.Load()))
        get_state = self._function("get_state", [], [result])
        set_state = self._function("set_state", names, targets, "ag__values")
        return [get_state, set_state]

    def _call(self, name: str, node: Any, names: list[str], parts: list[Any]) -> list[ast.stmt]:
        """The call of the operator, after the functions that it gets."""
        live = node.live_out
        needs = []
        for n in names:
            needs.append("attribute" if "." in n else "live" if n in live else "")
            if not needs[-1] and n in self._soft:
                needs[-1] = "captured"
        state = self._state(names)
        functions = [p for p in parts if isinstance(p, ast.FunctionDef)]
        arguments = [
            ast.Name(id=p.name, ctx=ast.Load()) if isinstance(p, ast.FunctionDef) else p
            for p in [*parts, *state]
        ]
        site = snippet(repr((tuple(names), tuple(needs), node.lineno)))
        return [*functions, *state, ast.Expr(value=operator(name, *arguments, site))]

    def _written(self, *nodes: Any) -> list[str]:
        """What a branch assigns to; an exception's name (``except E as e``) is its handler's own."""
        names = written(nodes)
        return [".".join(map(self._expressions.mangled, n.split("."))) for n in names]

    def _if(self, node: ast.If) -> list[ast.stmt]:
        names = self._written(*node.body, *node.orelse)
        test = self._expression(node.test)
        body = self._function("if_body", names, self._block(node.body))
        other = self._function("else_body", names, self._block(node.orelse))
        return self._call("if_stmt", node, names, [test, body, other])

    def _while(self, node: ast.While) -> list[ast.stmt]:
        body, options = self._with_options(node.body)
        names = self._written(node.test, *body)
        test = ast.Return(value=self._expression(node.test))
        function = self._function("test", self._written(node.test), [test])
        loop = self._function("loop_body", names, self._block(body))
        return self._call("while_stmt", node, names, [function, loop, options])

    def _for(self, node: Any) -> list[ast.stmt]:
        body, options = self._with_options(node.body)
        names = self._written(node.target, *body)
        item = ast.Name(id="ag__item", ctx=ast.Load())
        assign = ast.Assign(targets=[self._expression(node.target)], value=item)
        loop = self._function("loop_body", names, [assign, *self._block(body)], "ag__item")
        ends: Any = ast.Constant(value=None)
        if node.ends is not None:
            test = ast.Return(value=self._expression(node.ends))
            ends = self._function("test", [], [test])
        iterated = self._expression(node.iter)
        return self._call("for_stmt", node, names, [iterated, ends, loop, options])

    def _with_options(self, body: list[ast.stmt]) -> tuple[list[ast.stmt], ast.expr]:
        """A loop's statements without `set_loop_options`, and its options, as a function."""
        for number, node in enumerate(body):
            if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
                continue
            call = node.value
            if dotted(call.func).rpartition(".")[2] != _OPTIONS:
                continue
            pairs: Any = ast.Dict(
                keys=[None if k.arg is None else ast.Constant(value=k.arg) for k in call.keywords],
                values=[self._expression(k.value) for k in call.keywords],
            )
            return body[:number] + body[number + 1 :], later(place(pairs, node))
        return body, ast.Constant(value=None)


def has_control_flow(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether Python would ask a tensor for its truth, or for its items, if one were given."""
    asks = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Assert, ast.Not)
    return any(isinstance(n, asks) for n in ast.walk(node))
