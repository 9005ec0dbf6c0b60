"""`while` and `for`: Python's own, or a `tf.while_loop` where what they look at is a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import logging
from dataflow.autograph.branches import if_stmt
from dataflow.autograph.mutations import Watch
from dataflow.autograph.values import (
    Packed,
    Site,
    Undefined,
    can_be_tensor,
    difference,
    is_tensor,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import flatten
from dataflow.graph.tensor import Tensor
from dataflow.ops.comparison import logical_and
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.effects import in_order
from dataflow.ops.shape import shape
from dataflow.ops.sources import constant
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop
from dataflow.shapes import TensorShape

_State = Callable[[], tuple[Any, ...]]
#: Rounds of a Python loop after which a warning says that each of them added nodes.
_MANY_ROUNDS = 3000
_SetState = Callable[[tuple[Any, ...]], None]


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], Any],
    options: Callable[[], dict[str, Any]] | None,
    get_state: _State,
    set_state: _SetState,
    site: Any,
) -> None:
    """Runs ``body`` while ``test`` is true; a `tf.while_loop` from the round where ``test`` gives a tensor."""
    rounds, first = 0, len(default_graph().operations)
    while True:
        value = test()
        if is_tensor(value):
            break
        if not value:
            return
        body()
        rounds += 1
        if rounds == _MANY_ROUNDS and len(default_graph().operations) - first >= rounds:
            logging.warning(
                "line %d: the while loop has added nodes in %d rounds already, as its condition is no "
                "tensor. `a == b` and `a != b` never are one in TensorFlow 1: write tf.equal(a, b).",
                site[2],
                rounds,
            )
    loop = _TensorLoop(body, options, get_state, set_state, Site(*site))
    loop.build(lambda index: test(), lambda index: body())


def for_stmt(
    iterated: Any,
    goes_on: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    options: Callable[[], dict[str, Any]] | None,
    get_state: _State,
    set_state: _SetState,
    site: Any,
) -> None:
    """Runs ``body(item)`` for each item while ``goes_on()``; over a tensor or a dataset as a `tf.while_loop`."""
    is_dataset = hasattr(iterated, "in_loop") and not default_graph().executes_eagerly
    if is_dataset or is_tensor(iterated):
        loop = _TensorLoop(body, options, get_state, set_state, Site(*site))
        if is_dataset:
            more, item = iterated.in_loop()
        else:
            more, item = _items(convert_to_tensor(iterated), loop.site.line)

        def test(index: Any) -> Any:
            flag = goes_on() if goes_on else True
            if is_tensor(flag):
                return logical_and(more(index), flag)
            return more(index) if flag else constant(False)

        loop.build(test, lambda index: body(item(index)))
        return
    iterator = iter(iterated)
    while True:
        flag = goes_on() if goes_on else True
        tensor = is_tensor(flag)
        if not tensor and not flag:
            return
        if tensor and not hasattr(iterated, "__len__"):
            raise NotImplementedError(
                f"line {site[2]}: break and return statements which depend on a TF condition are not "
                f"supported in Python for loops: this one goes over a {type(iterated).__name__}, whose "
                "end is not known. Loop over tf.range or a tensor."
            )
        try:
            item_ = next(iterator)
        except StopIteration:
            return
        if tensor:
            _run_if(flag, body, item_, get_state, set_state, site)
        else:
            body(item_)


def _run_if(flag: Any, body: Any, item: Any, get_state: Any, set_state: Any, site: Any) -> None:
    """One round of a loop over Python's items that a tensor may have ended."""
    names, needs, line = site
    before = get_state()
    kept = tuple(  # what has no value yet is the round's own
        "" if isinstance(v, Undefined) else n for n, v in zip(needs, before, strict=True)
    )
    if_stmt(flag, lambda: body(item), lambda: None, get_state, set_state, (names, kept, line))


def _items(tensor: Tensor, line: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """What says whether there is an item of this index along the first axis, and what gives it."""
    if tensor.dims == ():
        raise ValueError(f"line {line}: a loop over {tensor.name!r}, a scalar, has no items.")
    size = tensor.dims[0] if tensor.dims is not None else None
    count = constant(size) if size is not None else shape(tensor)[0]
    if tensor.op.type == "Range":
        start, _, delta = tensor.op.inputs
        dtype = start.dtype.base_dtype
        if dtype.is_integer:
            from dataflow.ops.casts import cast

            return lambda index: index < count, lambda index: start + cast(index, dtype) * delta
    array = TensorArray(
        tensor.dtype.base_dtype, size=count, element_shape=tensor.shape[1:], infer_shape=True
    ).unstack(tensor)
    return lambda index: index < count, array.read


class _TensorLoop:
    def __init__(
        self, body: Any, options: Any, get_state: _State, set_state: _SetState, site: Site
    ) -> None:
        self.site = site
        self._watched = body
        self._options = options() if options is not None else {}
        self._get_state = get_state
        self._set_state = set_state
        self._before = get_state()
        self._needed = self._chosen()

    def _chosen(self) -> list[int]:
        """Numbers of the loop's variables; raises `ValueError` for one without a value."""
        chosen = []
        for n, (name, need) in enumerate(zip(self.site.names, self.site.needs, strict=True)):
            if not need:
                continue
            if not isinstance(self._before[n], Undefined):
                chosen.append(n)
            elif name == "ag__retval":
                raise NotImplementedError(
                    f"line {self.site.line}: return statements are not supported within a "
                    "TensorFlow loop: assign to a variable that has a value before it, and break."
                )
            elif need == "live":
                raise ValueError(
                    f"line {self.site.line}: {name!r} must also be initialized before the loop: it "
                    "depends on a tensor whether the loop runs, and the variable is read later."
                )
        return chosen

    def build(self, test: Callable[[Any], Any], body: Callable[[Any], Any]) -> None:
        """Builds the loop of ``test(index)`` and ``body(index)``, and sets the variables after it."""
        start = Packed([self._before[n] for n in self._needed])
        tensors = start.tensors()

        def set_variables(values: list[Any]) -> None:
            state = list(self._before)
            for n, value in zip(self._needed, start.unpack(values), strict=True):
                state[n] = value
            self._set_state(tuple(state))

        def loop_test(index: Any, *values: Any) -> Any:
            set_variables(list(values))
            return test(index)

        def loop_body(index: Any, *values: Any) -> Any:
            set_variables(list(values))
            where = f"the loop of line {self.site.line}"
            with in_order(default_graph()) as made, Watch(self._watched, where):
                body(index)
                state = self._get_state()
                results = self._checked(start, state, tensors)
            effects = made()
            following = index + 1
            if effects:
                following = with_dependencies(effects, following)
                results = [with_dependencies(effects, r) if is_tensor(r) else r for r in results]
            return (following, *results)

        keywords: dict[str, Any] = {
            k: self._options[k]
            for k in ("parallel_iterations", "swap_memory", "maximum_iterations")
            if k in self._options
        }
        invariants = self._invariants(start, tensors)
        if invariants is not None:
            keywords["shape_invariants"] = (TensorShape([]), *invariants)
        done = while_loop(
            loop_test,
            loop_body,
            (constant(0), *tensors),
            return_same_structure=True,
            **keywords,
        )
        set_variables(list(done[1:]))

    def _checked(self, start: Packed, state: tuple[Any, ...], tensors: list[Any]) -> list[Any]:
        """The variables after a round as tensors; raises `TypeError` for one of another kind."""
        for n, old in zip(self._needed, start.values, strict=True):
            name = self.site.names[n]
            if isinstance(state[n], Undefined):
                raise ValueError(
                    f"line {self.site.line}: {name!r} has no value after an iteration."
                )
            unlike = difference(old, state[n])
            if unlike:
                raise TypeError(
                    f"line {self.site.line}: {name!r} changes its type in the loop, which "
                    f"depends on a tensor: {unlike}."
                )
        results = Packed([state[n] for n in self._needed]).tensors(tensors)
        names = [
            self.site.names[n]
            for n, value in zip(self._needed, start.values, strict=True)
            for leaf in flatten(value)
            if can_be_tensor(leaf)
        ]
        for name, old, new in zip(names, tensors, results, strict=True):
            if is_tensor(old) and old.dtype.base_dtype is not new.dtype.base_dtype:
                raise TypeError(
                    f"line {self.site.line}: {name!r} is {old.dtype.base_dtype.name} before the loop "
                    f"and {new.dtype.base_dtype.name} after a round. Give it one dtype: tf.cast, or "
                    "0.0 in place of 0."
                )
        return results

    def _invariants(self, start: Packed, tensors: list[Any]) -> list[Any] | None:
        """The shapes for `while_loop` that `set_loop_options` asked for."""
        given = self._options.get("shape_invariants")
        if not given:
            return None
        shapes = [t.shape if is_tensor(t) else None for t in tensors]
        if None in shapes:
            raise NotImplementedError(
                f"line {self.site.line}: shape_invariants of loops with a TensorArray or sparse tensor "
                "are not supported: use tf.while_loop."
            )
        for variable, wanted in given:
            for n, leaf in enumerate(start.carried):
                if leaf is variable:
                    shapes[n] = TensorShape(wanted)
        return shapes
