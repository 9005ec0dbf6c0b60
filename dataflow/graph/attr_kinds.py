"""Which field of an ``AttrValue`` holds an attribute, by the schema of its op.

A ``GraphDef`` comes from elsewhere: each attribute is compared with what the op's definition says of it
before anything reads its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.graph.op_signature import short_repr

if TYPE_CHECKING:
    from dataflow.graph.op_def import OpDef

#: For each kind of attribute its name in messages and its field; those of lists are inside ``list``.
_FIELDS = {
    "bool": ("a bool", "b"),
    "int": ("an int", "i"),
    "float": ("a float", "f"),
    "str": ("a string", "s"),
    "DType": ("a type", "type"),
    "Shape": ("a shape", "shape"),
    "Array": ("a tensor", "tensor"),
    "Function": ("a function", "func"),
    "list[bool]": ("a list of bools", "b"),
    "list[int]": ("a list of ints", "i"),
    "list[float]": ("a list of floats", "f"),
    "list[str]": ("a list of strings", "s"),
    "list[DType]": ("a list of types", "type"),
    "list[Shape]": ("a list of shapes", "shape"),
}
#: Attributes that any node may have.
_OF_ALL_OPS = {"_class": "list[str]", "_output_shapes": "list[Shape]", "_gradient_op_type": "str"}
#: A node with more outputs than this is damaged: each takes memory before anything runs.
_MOST_OUTPUTS = 65_536


def _kinds(definition: OpDef) -> dict[str, str]:
    """Attribute -> kind, those of the signature (``T``, ``N``) among them."""
    if definition.attr_kinds is None:
        kinds = {spec.name: spec.kind for spec in definition.attrs}
        for arg in (*definition.inputs, *definition.outputs):
            for name, kind in (
                (arg.type_attr, "DType"),
                (arg.type_list_attr, "list[DType]"),
                (arg.number_attr, "int"),
            ):
                if name is not None:
                    kinds[name] = kind
        definition.attr_kinds = kinds
    return definition.attr_kinds


def kind_of(definition: OpDef, name: str) -> str | None:
    """The kind that the attribute ``name`` has; ``None`` where the op does not say."""
    return _kinds(definition).get(name) or _OF_ALL_OPS.get(name)


def check_kind(kind: str, proto: Any) -> None:
    """Raises `ValueError` where the ``AttrValue`` does not hold what ``kind`` needs."""
    if kind not in _FIELDS:
        raise ValueError("it means something only in the process that built the node")
    needed, field = _FIELDS[kind]
    got = proto.WhichOneof("value")
    if not kind.startswith("list["):
        if got != field:
            raise ValueError(f"expected {needed}, got {_described(proto, got)}")
    elif got != "list" or any(f.name != field for f, _ in proto.list.ListFields()):
        raise ValueError(f"expected {needed}, got {_described(proto, got)}")


def _described(proto: Any, got: str | None) -> str:
    if got is None:
        return "nothing"
    if got == "list":
        inside = sorted(f.name for f, _ in proto.list.ListFields())
        return "a list of " + " and ".join(_name("list", name) for name in inside or ["nothing"])
    name = _name("", got)
    return (
        name if got in ("tensor", "shape", "func") else f"{name}, {short_repr(getattr(proto, got))}"
    )


def _name(prefix: str, field: str) -> str:
    for kind, (name, of) in _FIELDS.items():
        if of == field and kind.startswith(prefix):
            return name.removeprefix("a list of ")
    return field


def check_numbers(definition: OpDef, attrs: dict[str, Any]) -> None:
    """Raises `ValueError` where the number of tensors of a list is none that a node can have."""
    for arg in (*definition.inputs, *definition.outputs):
        name = arg.number_attr
        if name in attrs and not 0 <= attrs[name] <= _MOST_OUTPUTS:
            raise ValueError(
                f"{name} says how many tensors {arg.name!r} stands for: it must be from 0 to "
                f"{_MOST_OUTPUTS:,}, got {attrs[name]:,}"
            )
