"""`if`, `a if b else c`, `and`, `or`, `not` and `assert`, on tensors or on what Python can look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.autograph.mutations import Watch
from dataflow.autograph.values import (
    Packed,
    Site,
    Undefined,
    difference,
    is_tensor,
    same_value,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.effects import in_order
from dataflow.ops.logging_ops import Assert
from dataflow.ops.math import logical_not
from dataflow.ops.sources import constant


def if_stmt(
    test: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    site: Any,
) -> None:
    """Runs ``body`` or ``orelse``; on a tensor both are traced, in the branches of a `tf.cond`.

    Raises `ValueError` for a variable that is read later and has a value in one branch alone, and
    `TypeError` where its two values do not fit each other.
    """
    if not is_tensor(test):
        (body if test else orelse)()
        return
    site = Site(*site)
    before = get_state()
    results: list[tuple[Any, ...]] = []
    needed: list[int] = []
    first: list[Any] = []

    def branch(function: Callable[[], Any]) -> Callable[[], Any]:
        def build() -> Any:
            set_state(before)
            with (
                in_order(default_graph()) as effects,
                Watch(function, f"the if of line {site.line}"),
            ):
                function()
                results.append(get_state())
                if len(results) == 1:  # what the other branch lacks is found out there
                    chosen = _chosen(site, before, results[0])
                    packed = Packed([results[0][n] for n in chosen])
                    needed.extend(chosen)
                    first.extend(packed.tensors(_carried(before, chosen)))
                    tensors = list(first)
                else:
                    packed = _second(site, results, needed)
                    tensors = packed.tensors(first)
            return _after(effects(), tensors)

        return build

    merged = cond(test, branch(body), branch(orelse), strict=True)[1:]
    after = list(before)
    values = Packed([results[0][n] for n in needed]).unpack(merged)
    for n, value in zip(needed, values, strict=True):
        after[n] = results[0][n] if same_value(results[0][n], results[1][n]) else value
    set_state(tuple(after))


def _after(effects: list[Any], tensors: list[Any]) -> list[Any]:
    """What a branch returns: a tensor, so that none is empty, and ``tensors``, after its effects."""
    first = constant(0)
    if not effects:
        return [first, *tensors]
    done = [with_dependencies(effects, first)]
    return done + [with_dependencies(effects, t) if is_tensor(t) else t for t in tensors]


def _carried(before: tuple[Any, ...], chosen: list[int]) -> list[Any]:
    return Packed([before[n] for n in chosen if _was(before[n])]).carried


def _chosen(site: Site, before: tuple[Any, ...], after: tuple[Any, ...]) -> list[int]:
    """Numbers of the variables that the first branch gives: those needed that have a value there."""
    return [
        n
        for n, need in enumerate(site.needs)
        if need and _was(after[n]) and (need != "captured" or _was(before[n]))
    ]


def _was(value: Any) -> bool:
    return not isinstance(value, Undefined)


def _second(site: Site, results: list[tuple[Any, ...]], needed: list[int]) -> Packed:
    """The values of the second branch; raises where they do not fit those of the first."""
    for n, name in enumerate(site.names):
        shown = "the return value" if name == "ag__retval" else repr(name)
        has = [_was(values[n]) for values in results]
        if has[0] != has[1] and site.needs[n] in ("live", "attribute"):
            where, missing = ("if", "else") if has[0] else ("else", "if")
            raise ValueError(
                f"line {site.line}: {shown} must also be initialized in the {missing} branch: the "
                f"condition is a tensor, the {where} branch sets it, and it is read later. Give it a "
                "value before the if."
            )
        unlike = difference(results[0][n], results[1][n]) if n in needed else ""
        if unlike:
            raise TypeError(
                f"line {site.line}: {shown} has incompatible values in the two branches, and "
                f"the condition is a tensor: {unlike}."
            )
    return Packed([results[1][n] for n in needed])


def if_exp(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``body() if test else orelse()``."""
    if is_tensor(test):
        return cond(test, _tensors_of(body), _tensors_of(orelse), strict=True)
    return body() if test else orelse()


def _tensors_of(function: Callable[[], Any]) -> Callable[[], Any]:
    def build() -> Any:
        packed = Packed([function()])
        return packed.unpack(packed.tensors())[0]

    return build


def and_(*parts: Callable[[], Any]) -> Any:
    """``a and b``: on a tensor ``b`` is computed where ``a`` is true."""
    value = parts[0]()
    if len(parts) == 1:
        return value
    if is_tensor(value):
        return cond(value, _tensors_of(lambda: and_(*parts[1:])), lambda: value)
    return value and and_(*parts[1:])


def or_(*parts: Callable[[], Any]) -> Any:
    """``a or b``: on a tensor ``b`` is computed where ``a`` is false."""
    value = parts[0]()
    if len(parts) == 1:
        return value
    if is_tensor(value):
        return cond(value, lambda: value, _tensors_of(lambda: or_(*parts[1:])))
    return value or or_(*parts[1:])


def not_(value: Any) -> Any:
    """``not value``."""
    return logical_not(value) if is_tensor(value) else not value


def assert_stmt(test: Any, message: Callable[[], Any]) -> None:
    """``assert test, message``: on a tensor an `Assert` that runs with what the function returns."""
    if is_tensor(test):
        text = message()
        Assert(test, list(text) if isinstance(text, (list, tuple)) else [text])
    else:
        assert test, message()
