"""`WithoutValue`: what people try with a tensor as if it were a number or an array, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

_VALUE = "It has no value before the graph runs: sess.run(t) gives the value, and so does t.eval() within a session."
_CHANGE = "Only a variable can be changed, and `v = v + 1` makes a tensor of the name"

#: Attributes of arrays and of other libraries' tensors, by name.
INSTEAD = {
    "numpy": f"{_VALUE} After tf.enable_eager_execution(), at the program's start, tensors have values and .numpy().",
    "item": _VALUE,
    "tolist": _VALUE,
    "T": "Use tf.transpose(t).",
    "astype": "Use tf.cast(t, dtype).",
    "reshape": "Use tf.reshape(t, shape).",
    "flatten": "Use tf.reshape(t, [-1]).",
    "ravel": "Use tf.reshape(t, [-1]).",
    "dot": "Use tf.matmul(a, b).",
    "sum": "Use tf.reduce_sum(t, axis).",
    "mean": "Use tf.reduce_mean(t, axis).",
    "max": "Use tf.reduce_max(t, axis).",
    "min": "Use tf.reduce_min(t, axis).",
    "argmax": "Use tf.argmax(t, axis).",
    "ndim": "Use t.shape.ndims, or tf.rank(t).",
    "size": "Use tf.size(t), or t.shape.num_elements().",
    "backward": "Use tf.gradients(t, variables): gradients are nodes of the graph.",
    "grad": "Use tf.gradients(loss, t): gradients are nodes of the graph.",
    "detach": "Use tf.stop_gradient(t).",
    "assign": f"{_CHANGE}; assign to a variable, or to a slice of one: v[1:3].assign(value).",
    "assign_add": f"{_CHANGE}; keep the variable, and use v.assign_add(1).",
    "assign_sub": f"{_CHANGE}; keep the variable, and use v.assign_sub(1).",
}


def missing_attribute(owner: object, name: str) -> AttributeError:
    """The error for an attribute that is not there. (It never names the tensor, which may be half made.)"""
    hint = f". {INSTEAD[name]}" if name in INSTEAD else ""
    words = f"{type(owner).__name__!r} object has no attribute {name!r}{hint}"
    return AttributeError(words, name=name, obj=owner)


class WithoutValue:
    """Base of tensors and variables. The errors are of Python's own classes, and begin as Python's do: there is no number."""

    __slots__ = ()

    def __float__(self) -> float:
        raise TypeError(self._no_number("float() argument must be a string or a real number"))

    def __int__(self) -> int:
        raise TypeError(
            self._no_number("int() argument must be a string, a bytes-like object or a real number")
        )

    def _no_number(self, needed: str) -> str:
        """The error's text; a variable of eager code has a value, but is no number."""
        is_eager = getattr(getattr(self, "graph", None), "executes_eagerly", False)
        how = (
            "Use .numpy()."
            if is_eager
            else f"{_VALUE} To convert in the graph use tf.cast(t, dtype)."
        )
        return f"{needed}, not {type(self).__name__!r}. {how}"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        raise TypeError(
            f"unsupported format string passed to {type(self).__name__}.__format__: {spec!r} is for a number. {_VALUE}"
        )

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__!r} object does not support item assignment. Of a variable, v[key].assign(value) is an "
            "operation that changes a part. Tensors never change: tf.where, tf.concat and tf.tensor_scatter_update make new ones."
        )

    if not TYPE_CHECKING:  # a type checker is to find attributes that are not there

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # the error of the property itself
            raise missing_attribute(self, name)
