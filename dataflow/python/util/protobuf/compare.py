"""``tensorflow.python.util.protobuf.compare``: protocol buffers in tests."""

from __future__ import annotations

import difflib
from typing import Any

__all__ = ["NormalizeNumberFields", "ProtoAssertions", "ProtoEq", "assertProtoEqual"]

_MOST_LINES = 2000


def _parts(value: Any) -> Any:
    """A message as field -> value, a map or a list as key -> value; anything else as it is."""
    if hasattr(value, "ListFields"):
        return {field.number: part for field, part in value.ListFields()}
    if hasattr(value, "items"):
        return dict(value.items())
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        return value
    return dict(enumerate(value))


def ProtoEq(a: Any, b: Any) -> bool:
    """Whether two messages have the same fields with equal values, lists in the same order."""
    a, b = _parts(a), _parts(b)
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return bool(a == b)
    return a.keys() == b.keys() and all(ProtoEq(a[key], b[key]) for key in a)


def NormalizeNumberFields(pb: Any) -> Any:
    """The message itself, with its float and double fields rounded to what a text of it holds."""
    from google.protobuf.descriptor import FieldDescriptor as Field

    for field, value in pb.ListFields():
        parts = _parts(value)
        if field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE):
            digits = 6 if field.type == Field.TYPE_FLOAT else 12
            if isinstance(parts, dict):
                pb.ClearField(field.name)
                getattr(pb, field.name).extend(float(f"{n:.{digits}g}") for n in parts.values())
            else:
                setattr(pb, field.name, float(f"{value:.{digits}g}"))
        elif field.type == Field.TYPE_MESSAGE:
            for message in parts.values() if not hasattr(value, "ListFields") else [value]:
                if hasattr(message, "ListFields"):
                    NormalizeNumberFields(message)
    return pb


def assertProtoEqual(
    self: Any,
    a: Any,
    b: Any,
    check_initialized: bool = True,
    normalize_numbers: bool = False,
    msg: str | None = None,
) -> None:
    """Fails the test ``self`` where two messages differ, with the lines of their texts that do.

    ``a`` may be the text of a message of ``b``'s type. ``check_initialized``: both have all fields that
    they need. ``normalize_numbers``: numbers are rounded first, in copies.
    """
    from google.protobuf import text_format

    if isinstance(a, str):
        a = text_format.Merge(a, type(b)())
    for message in (a, b) if check_initialized else ():
        missing = message.FindInitializationErrors()
        if missing:
            self.fail(f"Initialization errors: {missing}\n{message}")
    if normalize_numbers:
        a, b = (NormalizeNumberFields(type(m).FromString(m.SerializeToString())) for m in (a, b))
    if not ProtoEq(a, b):
        left, right = (text_format.MessageToString(m).splitlines() for m in (a, b))
        lines = list(difflib.unified_diff(left, right, "a", "b", lineterm=""))[:_MOST_LINES]
        self.fail("\n".join([msg or "the messages differ", *lines]))


class ProtoAssertions:
    """To be inherited by a test case: `assertProtoEqual` as its method."""

    def assertProtoEqual(self, *args: Any, **kwargs: Any) -> None:
        """See the function of this name."""
        assertProtoEqual(self, *args, **kwargs)
