"""`tf.extend`: ops, kernels and rewrites of one's own, from a notebook or another package.

::

    @tf.extend.define_op("Cube", "x: T -> y: T", T=(tf.float32, tf.float64))
    def cube(x):
        return x.dims  # the body is the shape rule


    @cube.gradient
    def cube_gradient(op, dy):
        (x,) = op.inputs
        return [dy * 3.0 * tf.square(x)]  # more graph


    @tf.extend.kernel("Cube")
    def cube_kernel(xp, x):
        return x * x * x  # arrays; xp is NumPy, or CuPy on a GPU


    @tf.extend.rewrite("Mul")
    def square_times_itself(t):
        '''square(x) * x -> cube(x)'''
        ...

What is defined again, as by running a cell twice, takes the place of what was defined before. The engine's own
ops and kernels cannot be replaced. All of it holds in this process; a task of a cluster has to run the same
definitions, best from a module that both import. `dataflow/EXTENDING.md` says how the engine's own are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import all_ops, define_op as _define_op, forget_op, get_op
from dataflow.kernels.registry import forget_kernels, kernel as _kernel, registered_kernels
from dataflow.rewrites.rules import Rule, forget_rule, rewrite as _rewrite

__all__ = ["define_op", "kernel", "kernels", "remove", "rewrite", "rules"]

_op_types: set[str] = set()
_kernels: set[tuple[str, str]] = set()
#: By name: the rule, and the op types that it looks at.
_rules: dict[str, tuple[Rule, tuple[str, ...]]] = {}


def define_op(
    op_type: str, signature: str, **options: Any
) -> Callable[[Callable[..., Any]], OpDef]:
    """Decorator that makes an op of a shape rule; the result builds nodes when it is called.

    ``signature`` names inputs and outputs with their dtypes, ``"a: T, b: T -> product: T"``;
    ``T=(tf.float32, ...)`` restricts a type attribute, and other ``options`` are traits such as
    ``elementwise=True`` (`dataflow.graph.op_traits.OpTraits`). The rule takes the input tensors, with the
    attributes as keyword-only parameters, and returns the dims of the output (``None`` for an unknown rank, and
    in place of an unknown size), or a list of dims, one for each output; it raises `ValueError` for what does not
    fit. ``op.gradient`` registers the gradient.

    Raises `ValueError` for the type of an op that the engine has.
    """
    if op_type not in _op_types and _is_known(op_type):
        raise ValueError(f"{op_type} is an op of the engine; give yours another name.")

    def register(shape_rule: Callable[..., Any]) -> OpDef:
        if op_type in _op_types:
            remove(op_type)
        made = _define_op(op_type, signature, **options)(shape_rule)
        _op_types.add(op_type)
        return made

    return register


def kernel(
    op_type: str, *, devices: tuple[str, ...] = ("cpu", "gpu"), **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for the function that computes an op of `define_op`: ``kernel(xp, *arrays, *, attrs)``.

    It returns arrays of the dtypes that the op declares (a tuple where there are several outputs) and never
    changes an input. ``devices`` are those that it is for. Raises `ValueError` for an op that was not defined here.
    """
    if op_type not in _op_types:
        raise ValueError(
            f"{op_type} is not an op that you defined: define it first, with tf.extend.define_op({op_type!r}, ...)."
        )

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for device in devices:
            if (op_type, device) in _kernels:
                forget_kernels(op_type, (device,))
            _kernels.add((op_type, device))
        return _kernel(op_type, devices=devices, **options)(function)

    return register


def rewrite(*op_types: str) -> Callable[[Rule], Rule]:
    """Decorator for a rule: it is given a tensor of one of ``op_types``, and returns what to put in its place.

    The rule may build nodes with any function of ``tf``; it returns ``None`` where it does not apply. The first
    line of its docstring is the equation, as RewritePlayer and `Session.explain` show it. Sessions use it in
    the plans that they make from then on. A rule with the same name takes the place of the one before.

    Raises `ValueError` where no op type is given, or one that does not exist.
    """
    if not op_types:
        raise ValueError('give the op types to look at: @tf.extend.rewrite("Mul").')
    for op_type in op_types:
        if callable(op_type):
            raise ValueError(
                'the decorator needs the op types to look at: @tf.extend.rewrite("Mul"), not @tf.extend.rewrite.'
            )
        if not _is_known(op_type):
            import difflib

            near = difflib.get_close_matches(op_type, list(all_ops()), 1, 0.6)
            like = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"there is no op type {op_type!r}; see tensor.op.type.{like}")

    def register(rule: Rule) -> Rule:
        if rule.__name__ in _rules:
            remove(_rules[rule.__name__][0])
        _rules[rule.__name__] = rule, op_types
        return _rewrite(*op_types)(rule)

    return register


def remove(what: str | OpDef | Rule) -> None:
    """Takes back a rule, or an op (by its type or itself) with its kernels.

    Nodes that were built of the op, and plans that were made with the rule, stay as they are. Raises `ValueError`
    for what was not defined here.
    """
    op_type = what if isinstance(what, str) else getattr(what, "type", None)
    if op_type in _op_types:
        forget_op(op_type)
        devices = tuple(device for name, device in sorted(_kernels) if name == op_type)
        forget_kernels(op_type, devices)
        _op_types.discard(op_type)
        _kernels.difference_update((op_type, device) for device in devices)
        return
    name = getattr(what, "__name__", "")
    if name in _rules and _rules[name][0] is what:
        forget_rule(_rules.pop(name)[0])
        return
    raise ValueError(f"{what!r} is neither an op nor a rule that tf.extend knows.")


def rules() -> dict[str, tuple[Rule, tuple[str, ...]]]:
    """The rules that were defined here, by name, each with the op types that it looks at."""
    return dict(_rules)


def kernels() -> dict[tuple[str, str], Callable[..., Any]]:
    """The kernels that were defined here, by op type and device."""
    return {key: registered_kernels()[key].function for key in _kernels}


def _is_known(op_type: str) -> bool:
    try:
        get_op(op_type)
    except KeyError:
        return False
    return True
