"""Frames that are like an earlier one: they are written and read without deciding anything again.

The frames of a step that is run again and again differ in the step's number and in what the tensors
hold. A form keeps all the rest as bytes: header, dtypes, shapes. Whatever does not fit its form byte
for byte goes the long way, through `messages`, with all of its checks.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.cluster.messages import HEADER, INLINE, Descriptor, Message

#: Magic, kind, flags and tag as one number; id. What is left of the header stands after them.
BEGINNING = struct.Struct("<QQ")
_ID = struct.Struct("<Q")
#: Forms that a link keeps; the steps of a session have a few each.
_MOST_FORMS = 64
#: What stands before the payload of a frame that is worth remembering, in bytes.
_LONGEST = 1024
_BOOL = np.dtype(np.bool_)


class SentForm:
    """Of a frame that was sent; ``size`` in bytes is the whole frame's."""

    __slots__ = ("after", "before", "size", "types")

    def __init__(self, begins: bytes, tensors: Sequence[Any], size: int) -> None:
        self.before, self.after = begins[:8], begins[16:]
        self.types = [(type(tensor), tensor.dtype, tensor.shape) for tensor in tensors]
        self.size = size

    def begin(self, id: int, tensors: Sequence[Any]) -> bytes | None:
        """What stands before the tensors' bytes; ``None`` where they do not fit."""
        types = self.types
        if len(tensors) != len(types):
            return None
        for tensor, (kind, dtype, shape) in zip(tensors, types, strict=True):
            if (
                type(tensor) is not kind
                or tensor.dtype is not dtype
                or tensor.shape != shape
                or not tensor.flags.c_contiguous
            ):
                return None
        return self.before + _ID.pack(id) + self.after


def sent_form(buffers: Sequence[Any], tensors: Sequence[Any], size: int) -> SentForm | None:
    """The form of a frame, if others can be like it: all of its tensors are numbers in the frame."""
    numbers = [t for t in tensors if isinstance(t, np.ndarray | np.generic) and t.dtype.kind != "O"]
    if len(numbers) != len(tensors) or size != len(buffers[0]) + sum(t.nbytes for t in numbers):
        return None
    if any(t.dtype.kind in "SU" for t in numbers):
        return None
    return SentForm(bytes(buffers[0]), tensors, size)


class ReceivedForm:
    """Of a frame that was received; ``rest`` is what stands between its id and its payload."""

    __slots__ = ("flags", "kind", "rest", "size", "tag", "tensors")

    def __init__(
        self, message: Message, begins: bytes, descriptors: Sequence[Descriptor], size: int
    ) -> None:
        self.kind, self.tag, self.flags = message.kind, message.tag, message.flags
        self.rest = begins[16:]
        self.size = size
        self.tensors = []
        at = len(begins)
        for dtype, shape, _, _, num_bytes in descriptors:
            self.tensors.append((shape, dtype, at, at + num_bytes))
            at += num_bytes

    def read(self, buffer: bytearray, start: int, id: int) -> Message:
        """The message of the frame that stands at ``start``, which fits."""
        tensors = [
            np.ndarray(shape, dtype, buffer[start + at : start + end])
            for shape, dtype, at, end in self.tensors
        ]
        return Message(self.kind, self.tag, id, tensors, None, self.flags)


def received_form(
    message: Message, begins: bytes, descriptors: Sequence[Descriptor], size: int
) -> ReceivedForm | None:
    """The form of a frame, if others can be like it: all of its tensors are numbers in the frame."""
    if (
        message.head is not None
        or len(begins) > _LONGEST
        or any(d.place != INLINE or d.dtype is None or d.dtype == _BOOL for d in descriptors)
    ):
        return None
    return ReceivedForm(message, begins, descriptors, size)


def remember(forms: dict[Any, Any], key: Any, form: Any) -> None:
    """Keep a form; a link whose frames are of ever new forms keeps few."""
    if len(forms) >= _MOST_FORMS:
        forms.clear()
    forms[key] = form


assert BEGINNING.size == 16 < HEADER.size
