"""An `OpDef` as TensorFlow's message of that name has it: what libraries that look through graphs read."""

from __future__ import annotations

from typing import NamedTuple

from dataflow.graph.op_signature import ArgSpec, AttrSpec

#: Our kinds of attributes whose names in TensorFlow are others.
_KINDS = {
    "DType": "type",
    "str": "string",
    "Shape": "shape",
    "Function": "func",
    "Array": "tensor",
    "list[int]": "list(int)",
    "list[float]": "list(float)",
    "list[str]": "list(string)",
    "list[DType]": "list(type)",
    "list[Shape]": "list(shape)",
}


class Argument(NamedTuple):
    """An input or output: ``type`` is a dtype's number, 0 where an attribute says it; absent names are empty."""

    name: str
    type: int
    type_attr: str
    number_attr: str
    type_list_attr: str
    is_ref: bool


class Attribute(NamedTuple):
    """An attribute and the kind of its value: "int", "type", "list(shape)", "func"."""

    name: str
    type: str


class FunctionName(NamedTuple):
    """What `Operation.get_attr` says of a function: its name in the graph's library."""

    name: str


class OpDefFields:
    """``input_arg``, ``output_arg``, ``attr`` and ``is_stateful``; no ``name``, which functions have none of."""

    inputs: tuple[ArgSpec, ...]
    outputs: tuple[ArgSpec, ...]
    attrs: tuple[AttrSpec, ...]
    stateful: bool

    @property
    def is_stateful(self) -> bool:
        """Whether two nodes of it may differ though their inputs do not."""
        return self.stateful

    @property
    def input_arg(self) -> list[Argument]:
        """The inputs."""
        return [_argument(arg) for arg in self.inputs]

    @property
    def output_arg(self) -> list[Argument]:
        """The outputs."""
        return [_argument(arg) for arg in self.outputs]

    @property
    def attr(self) -> list[Attribute]:
        """The attributes, those that follow from the inputs among them, by name."""
        kinds = {a.name: _KINDS.get(a.kind, a.kind) for a in self.attrs}
        for arg in (*self.inputs, *self.outputs):
            for name, kind in (
                (arg.type_attr, "type"),
                (arg.number_attr, "int"),
                (arg.type_list_attr, "list(type)"),
            ):
                if name:
                    kinds.setdefault(name, kind)
        return [Attribute(name, kind) for name, kind in sorted(kinds.items())]


def _argument(arg: ArgSpec) -> Argument:
    enum = 0 if arg.dtype is None else arg.dtype.as_datatype_enum
    names = (arg.type_attr or "", arg.number_attr or "", arg.type_list_attr or "")
    return Argument(arg.name, enum, *names, arg.is_ref)
