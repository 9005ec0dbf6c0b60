"""The op registry: `define_op` turns a shape rule into an op that builds nodes.

::

    @define_op("MatMul", "a: T, b: T -> product: T", T=NUMBERS)
    def mat_mul(a, b, *, transpose_a: bool = False, transpose_b: bool = False):
        '''Docstring: shapes, dtypes, gradient.'''
        return (rows, columns)  # the body is the shape rule

The signature is TensorFlow's: input names (they name the constants made for Python values, as in
``Add/x``), and for each a dtype, a type attribute such as ``T``, ``N * T`` for a list of one type,
``list(Tin)`` for a list of any types, or ``Ref(T)`` for a variable. Keyword-only parameters are
the other attributes; ``T=NUMBERS`` restricts a type attribute. `declared_ops.declare_op` is
the short form for ops without a shape rule of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.graph.op_def import OpDef
from dataflow.graph.op_traits import TRAITS
from dataflow.providers import provided

if TYPE_CHECKING:
    from dataflow.graph.operation import Operation

_ops: dict[str, OpDef] = {}
#: Ops that `get_op` finds and `all_ops` does not list.
_set_aside: dict[str, OpDef] = {}


def define_op(
    op_type: str,
    signature: str = "",
    *,
    stateful: bool = False,
    attrs: str = "",
    **options: Any,
) -> Callable[[Callable[..., Any]], OpDef]:
    """Registers an op; see the module's text for the signature language.

    ``options`` are traits (``blocks=True``, see `OpTraits`) and the dtypes that a type attribute of
    the signature allows (``T=NUMBERS``).

    The decorated function is the shape rule: it gets the input tensors (`Tensor.dims` and
    ``.dtype``) and the attributes, and returns dims for the one output, or a list of dims, one for
    each output. It raises `ValueError` with a text that says what does not fit. A rule that several
    ops share takes ``*inputs``, and ``**attrs`` where it looks at them; ``attrs`` then names the
    attributes as parameters do: ``"f: Function, timeout_ms: int = -1"``.
    """

    def register(shape_rule: Callable[..., Any]) -> OpDef:
        if op_type in _ops:
            raise ValueError(f"op {op_type} is defined twice")
        traits = {k: v for k, v in options.items() if k in TRAITS}
        allowed = {k: v for k, v in options.items() if k not in TRAITS}
        for option in allowed:
            if option not in signature:
                raise TypeError(
                    f"{op_type}: {option!r} is neither a trait ({', '.join(sorted(TRAITS))}) nor a "
                    f"type attribute of the signature {signature!r}"
                )
        op_def = _ops[op_type] = OpDef(
            op_type, signature, shape_rule, allowed, stateful, traits, attrs
        )
        return op_def

    return register


def forget_op(op_type: str) -> None:
    """Takes an op out of the registry; nodes that were built of it keep it."""
    del _ops[op_type]


def set_aside(op_type: str) -> None:
    """Lists an op no longer: one that nothing but the graphs of tests are made of."""
    _set_aside[op_type] = _ops.pop(op_type)


def not_differentiable(*op_types: Any) -> None:
    """Says that no gradient flows through these ops (`OpDef` objects or op types).

    A type that is not known, such as an op of somebody's C++ library, is passed over. Raises
    `TypeError` for what is no type of an op.
    """
    for op_type in op_types:
        if not isinstance(op_type, (OpDef, str)):
            raise TypeError(f"op_type must be a string, got {op_type!r}")
        try:
            op_def = op_type if isinstance(op_type, OpDef) else get_op(op_type)
        except KeyError:
            continue
        op_def.differentiable = False


def refuse_gradient(*op_defs: OpDef) -> None:
    """Says that nobody knows a gradient of these ops, though one could exist: to ask for it is a `LookupError`.

    What `not_differentiable` names passes a gradient of ``None`` on, which says that the result does not depend on the
    input. These are TensorFlow's ops without a registered gradient.
    """

    def refused(op: Operation, *grads: Any) -> Any:
        raise LookupError(
            f"No gradient defined for operation {op.name!r} (op type: {op.type}), built at {op.built_at}."
        )

    for op_def in op_defs:
        op_def.gradient_function = refused


def get_op(op_type: str) -> OpDef:
    """The op of this type, from a file that is loaded now if need be; raises `KeyError`."""
    found = _ops.get(op_type) or _set_aside.get(op_type)
    if found is None:
        provided("all_ops")
        found = _ops[op_type]
    return found


def all_ops() -> dict[str, OpDef]:
    """The whole registry, by op type; every file of ops is loaded."""
    provided("all_ops")
    return _ops


#: Gradient functions that users registered under a name, for `Graph.gradient_override_map`.
_named_gradients: dict[str, Callable[..., Any] | None] = {}


class RegisterGradient:
    """Decorator ``@tf.RegisterGradient("Name")`` for use with `Graph.gradient_override_map`."""

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self._op_type in _named_gradients or (
            self._op_type in _ops and _ops[self._op_type].gradient_function is not None
        ):
            raise KeyError(f"Registering two gradients with the name {self._op_type!r}!")
        _named_gradients[self._op_type] = function
        return function


def register_named_gradient(name: str, function: Callable[..., Any]) -> None:
    """Registers a gradient for `Graph.gradient_override_map` under a name that is not taken."""
    RegisterGradient(name)(function)


class Gradients(MutableMapping[str, dict[str, Any]]):
    """The functions of gradients by the name of the op, as TensorFlow keeps them.

    A value is ``{"type": function, "location": None}``; the function is ``None`` where an op is not differentiable.
    Setting one replaces the op's own gradient; a copy is a plain ``dict``, to restore them from.
    """

    def __getitem__(self, name: str) -> dict[str, Any]:
        if name in _named_gradients:
            return {"type": _named_gradients[name], "location": None}
        op_def = get_op(name)
        if op_def.differentiable and op_def.gradient_function is None:
            raise KeyError(name)
        return {
            "type": op_def.gradient_function if op_def.differentiable else None,
            "location": None,
        }

    def __setitem__(self, name: str, entry: dict[str, Any]) -> None:
        function, op_def = entry["type"], _ops.get(name)
        if op_def is not None and op_def.differentiable and op_def.gradient_function is None:
            op_def.gradient_function = function  # it had none, or was deleted
            op_def.differentiable = function is not None
            _named_gradients.pop(name, None)
        else:
            _named_gradients[name] = function

    def __delitem__(self, name: str) -> None:
        self[name]
        _named_gradients.pop(name, None)
        if name in _ops:
            _ops[name].gradient_function, _ops[name].differentiable = None, True

    def __iter__(self) -> Iterator[str]:
        yield from _named_gradients
        yield from (n for n in list(all_ops()) if n not in _named_gradients and n in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __copy__(self) -> dict[str, dict[str, Any]]:
        return dict(self)


class GradientRegistry:
    """TensorFlow's ``ops._gradient_registry``, which programs ask for a name before they register it."""

    def __init__(self) -> None:
        self._gradients = Gradients()

    @property
    def _registry(self) -> Gradients:
        return self._gradients

    @_registry.setter
    def _registry(self, entries: Mapping[str, dict[str, Any]]) -> None:
        for name in [n for n in self._gradients if n not in entries]:
            del self._gradients[name]
        for name, entry in entries.items():
            if name not in self._gradients or self._gradients[name]["type"] != entry["type"]:
                self._gradients[name] = entry

    def register(self, candidate: Callable[..., Any], name: str | None = None) -> None:
        """Registers a function; raises `KeyError` where the name, or the function's own, has one."""
        RegisterGradient(name or candidate.__name__)(candidate)

    def lookup(self, name: str) -> Callable[..., Any] | None:
        """The function of this name, or ``None``; raises `LookupError` where there is none."""
        if name not in self._gradients:
            raise LookupError(f"gradient registry has no entry for: {name}")
        return self._gradients[name]["type"]  # type: ignore[no-any-return]

    def list(self) -> Sequence[str]:
        """The names."""
        return [*self._gradients]


def gradient_function_of(op: Operation) -> Callable[..., Any] | None:
    """The function that builds the gradient of ``op``; ``None`` when it is not differentiable.

    Raises `LookupError` when the op has none.
    """
    override = op.gradient_override
    if override is not None:
        try:
            return _named_gradients[override]
        except KeyError:
            op_def = _ops.get(override)
            if op_def is None or op_def.gradient_function is None:
                raise LookupError(
                    f"gradient_override_map names the gradient {override!r} for {op.name!r}, but no "
                    f'function is registered: use @tf.RegisterGradient("{override}").'
                ) from None
            return op_def.gradient_function
    if op.type in _named_gradients:
        return _named_gradients[op.type]
    op_def = op.op_def
    if not op_def.differentiable:
        return None
    if op_def.gradient_function is None:
        raise LookupError(
            f"No gradient defined for operation {op.name!r} (op type: {op.type}), "
            f"built at {op.built_at}."
        )
    return op_def.gradient_function
