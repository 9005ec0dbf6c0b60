"""``tensorflow.python.framework.test_ops``: the op types that TensorFlow's tests of graphs are written with.

They have no kernels: graphs of them are built, imported and looked at, and never run. They are known from when a
program imports this module, and no list of ops has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.declared_ops import declare_op
from dataflow.graph.registry import set_aside
from dataflow.layers.base import snake_case
from dataflow.python.op_functions import function_of

#: Op types with their signatures, whose outputs are of unknown shape.
_TYPES = """
A : -> out: float32
B : -> out: float32
Binary : a: T, b: T -> out: T
CopyOp : a: T -> b: T
FiveFloatOutputs : -> a: float32, b: float32, c: float32, d: float32, e: float32
FloatInput : a: float32
FloatOutput : -> a: float32
FloatOutputStringOutput : -> a: float32, b: string
Foo1 : a: float32, b: int32, c: int32 -> d: float32, e: int32
Foo2 : a: float32, b: string, c: string -> d: float32, e: int32
Foo3 : a: float32, b: string, c: float32 -> d: float32, e: int32
GraphDefVersion : -> version: int32
Int64Output : -> out: int64
IntInput : a: int32
IntInputFloatInput : a: int32, b: float32
IntInputIntOutput : a: int32 -> b: int32
IntOutput : -> a: int32
IntOutputFloatOutput : -> a: int32, b: float32
KernelLabel : -> result: string
KernelLabelRequired : input: int32 -> result: string
ListInput : a: N * T
None :
Old :
Polymorphic : a: T -> out: T
PolymorphicOut : -> out: T
RefInputFloatInput : a: Ref(float32), b: float32
RefInputIntInput : a: Ref(int32), b: int32
RefOutput : -> a: Ref(int32)
RefOutputFloatOutput : -> a: Ref(float32), b: float32
RequiresOlderGraphVersion : -> version: int32
ReservedInput : input: int32
ResourceCreateOp : resource: resource
ResourceInitializedOp : resource: resource -> initialized: bool
ResourceUsingOp : resource: resource
Simple : a: int32 -> out: float32
TestStringOutput : input: float32 -> output1: float32, output2: string
TwoFloatInputs : a: float32, b: float32
TwoFloatOutputs : -> a: float32, b: float32
TwoIntInputs : a: int32, b: int32
TwoIntOutputs : -> a: int32, b: int32
Unary : a: T -> b: T
"""
#: Those with attributes of their own.
_WITH_ATTRS = {
    "IntAttr": ("-> out: int64", "foo: int = 1"),
    "ListOutput": ("-> a: list(T)", "T: list[DType]"),
    "OpWithDefaultAttr": ("-> a: int32", "default_float: float = 123.0"),
    "OpWithFutureDefaultAttr": ("", ""),
    "StubResourceHandleOp": ("-> resource: resource", "container: str = '', shared_name: str = ''"),
}


def _declared() -> list[str]:
    """Declares all of them; returns their op types."""
    rows = [line.partition(" :") for line in _TYPES.strip().splitlines()]
    plain = {op_type: (signature.strip(), "") for op_type, _, signature in rows}
    for op_type, (signature, attrs) in {**plain, **_WITH_ATTRS}.items():
        declare_op(op_type, signature, "Of TensorFlow's own tests.", None, attrs=attrs)
        set_aside(op_type)
    return [*plain, *_WITH_ATTRS]


_BY_NAME = {snake_case(op_type): op_type for op_type in _declared()}


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _BY_NAME:
        raise AttributeError(f"no op of tests is called {name!r}", name=name, obj=object())
    return function_of(_BY_NAME[name], name)


def __dir__() -> list[str]:
    return sorted(_BY_NAME)
