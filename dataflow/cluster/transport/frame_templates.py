"""Templates of frames: a frame like an earlier one is written and read without new decisions.

The frames of a repeated step differ only in the step's number, in the contents of the tensors, and in
the segments of shared memory that large tensors lie in. A template keeps the rest as bytes: header,
dtypes, shapes. A frame that does not match its template byte for byte is encoded or decoded by
`messages`, with all checks.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.cluster.transport.messages import (
    DESCRIPTOR,
    HEADER,
    INLINE,
    SHARED,
    Descriptor,
    Message,
    parse_meta,
)
from dataflow.cluster.transport.shm_receive import IncomingSegments, Lease
from dataflow.cluster.transport.shm_send import OutgoingSegments, Place, put

#: Magic, kind, flags and tag as one number; id. The rest of the header follows.
BEGINNING = struct.Struct("<QQ")
_ID = struct.Struct("<Q")
#: Templates that a connection keeps; each step of a session has a few.
_MOST_FORMS = 64
#: Templates kept for frames with the same beginning: one for each segment that their tensors may lie in.
_MOST_OF_A_KEY = 8
#: Up to this size the parts of a frame are joined: one copy costs less than a second buffer.
JOIN_BYTES = 1 << 12
#: The same for the frame of a template, which is joined and sent without any decision in between.
WHOLE_BYTES = 1 << 16
#: So often a template is used before `SentTemplate.whole` or `ReceivedTemplate.read` is written for it: that
#: costs as much as 50 frames.
_USES_BEFORE_CODE = 16
#: The most bytes before the payload of a frame that is worth a template.
_LONGEST = 1024
_BOOL = np.dtype(np.bool_)
#: How whole numbers are read, by the dtype's character.
_NUMBERS = {np.dtype(name).char: struct.Struct(code) for name, code in (("i4", "<i"), ("i8", "<q"))}


class SentTemplate:
    """The template of a frame that was sent; ``size`` is the whole frame's, in bytes.

    ``largest`` is that, or the size of its largest tensor in shared memory; ``shared_bytes`` is the
    size of all of these.
    """

    __slots__ = (
        *("_uses", "after", "before", "inline", "largest", "meta"),
        *("shared", "shared_bytes", "size", "types", "whole"),
    )

    def __init__(
        self,
        begins: bytes,
        descriptors: Sequence[Descriptor],
        tensors: Sequence[Any],
        size: int,
        largest: int,
        outgoing: OutgoingSegments,
    ) -> None:
        self.before, self.after = begins[:8], begins[16:]
        #: ``whole(id, tensors)``: the frame in one piece; ``None`` where the tensors do not fit.
        self.whole: Callable[[int, Sequence[Any]], bytes | None] | None = None
        self._uses = 0
        self.types = [(type(tensor), tensor.dtype, tensor.shape) for tensor in tensors]
        self.size, self.largest = size, largest
        self.shared_bytes = sum(d.num_bytes for d in descriptors if d.place == SHARED)
        self.inline = [i for i, d in enumerate(descriptors) if d.place == INLINE]
        #: The tensors in shared memory: number, and the places where such a tensor can lie.
        self.shared = [
            (i, outgoing.places(tensors[i].dtype, tensors[i].shape))
            for i, d in enumerate(descriptors)
            if d.place == SHARED
        ]
        if self.shared:
            self.after = begins[16 : HEADER.size]
            ends = itertools.accumulate(DESCRIPTOR.size + 8 * len(d.shape) for d in descriptors)
            cuts = [HEADER.size, *(HEADER.size + end for end in ends)]
            self.meta = [begins[start:end] for start, end in itertools.pairwise(cuts)]

    def buffers(self, id: int, tensors: Sequence[Any]) -> list[Any] | None:
        """The frame, as `messages.encode` gives it; ``None`` where the tensors do not fit, or
        there is no room for one in shared memory."""
        types = self.types
        self._uses += 1
        if self._uses == _USES_BEFORE_CODE and self.size <= WHOLE_BYTES:
            self.whole = _joiner(self)
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
        if not self.shared:
            begins = self.before + _ID.pack(id) + self.after
            # A copy costs less than a second buffer.
            return [begins, *tensors] if self.size > JOIN_BYTES else [b"".join((begins, *tensors))]
        meta = self.meta.copy()
        taken: list[Place] = []
        for i, places in self.shared:
            place = put(places, tensors[i])
            if place is None:
                for place in taken:
                    place.give_back()
                return None
            taken.append(place)
            meta[i] = place.descriptor
        begins = b"".join((self.before, _ID.pack(id), self.after, *meta))
        return [begins, *[tensors[i] for i in self.inline]]


def _joiner(form: SentTemplate) -> Callable[[int, Sequence[Any]], bytes | None]:
    """`SentTemplate.whole`, with its checks written out: a loop over them took as long as the system's send."""
    scope: dict[str, Any] = {"join": b"".join, "pack": _ID.pack, "put": put}
    scope |= {"before": form.before, "after": form.after}
    names, checks = [], [f"len(tensors) == {len(form.types)}"]
    for number, (kind, dtype, shape) in enumerate(form.types):
        name = f"t{number}"
        names.append(name)
        scope |= {f"kind{number}": kind, f"dtype{number}": dtype, f"shape{number}": shape}
        checks.append(f"type({name} := tensors[{number}]) is kind{number}")
        if kind is np.ndarray:
            checks += [f"{name}.dtype is dtype{number}", f"{name}.shape == shape{number}"]
            if math.prod(shape) > 1:
                checks.append(f"{name}.flags.c_contiguous")
        elif dtype.kind not in "biufc":
            checks += [f"{name}.dtype is dtype{number}", f"{name}.shape == shape{number}"]
    lines = [
        "def whole(id, tensors):",
        f"    if not ({' and '.join(checks)}):",
        "        return None",
    ]
    parts = ["before", "pack(id)", "after"]
    if form.shared:
        scope |= {f"meta{number}": meta for number, meta in enumerate(form.meta)}
        parts += [f"meta{number}" for number in range(len(form.meta))]
    taken: list[str] = []
    for number, places in form.shared:
        scope[f"places{number}"] = places
        lines += [f"    p{number} = put(places{number}, t{number})", f"    if p{number} is None:"]
        lines += [f"        {place}.give_back()" for place in taken]
        lines.append("        return None")
        taken.append(f"p{number}")
        parts[3 + number] = f"p{number}.descriptor"
    parts += [names[number] for number in form.inline]
    lines.append(f"    return join(({', '.join(parts)}))")
    exec("\n".join(lines), scope)
    return scope["whole"]  # type: ignore[no-any-return]


def sent_template(
    buffers: Sequence[Any],
    tensors: Sequence[Any],
    size: int,
    largest: int,
    outgoing: OutgoingSegments,
) -> SentTemplate | None:
    """The template of a frame, if it has no head and all of its tensors are numeric."""
    if any(not isinstance(t, np.ndarray | np.generic) or t.dtype.kind in "OSUV" for t in tensors):
        return None
    begins = bytes(buffers[0])
    descriptors, _ = parse_meta(begins[HEADER.size :], len(tensors), size - len(begins))
    return SentTemplate(begins, descriptors, tensors, size, largest, outgoing)


class ReceivedTemplate:
    """The template of a frame that was received; ``rest`` is the bytes between its id and its payload.

    ``size`` in bytes is the frame's, ``shared_bytes`` that of its tensors in shared memory.
    ``read(buffer, first)``: the tensors of such a frame that begins at an offset of a buffer; of rank 0 they may
    be NumPy's numbers.
    """

    __slots__ = (
        *("_tensors", "_uses", "flags", "kind", "read", "rest"),
        *("shared_bytes", "size", "tag"),
    )

    def __init__(
        self,
        message: Message,
        begins: bytes,
        descriptors: Sequence[Descriptor],
        size: int,
        incoming: IncomingSegments,
    ) -> None:
        self.kind, self.tag, self.flags = message.kind, message.tag, message.flags
        self.rest = begins[16:]
        self.size = size
        self.shared_bytes = sum(d.num_bytes for d in descriptors if d.place == SHARED)
        #: Shape, dtype and where the bytes are; or nothing, and what a `Lease` is made of.
        self._tensors: list[tuple[Any, Any, Any, Any]] = []
        self._uses = 0
        self.read: Callable[[bytearray, int], list[Any]] = self._read
        at = len(begins)
        for descriptor in descriptors:
            dtype, shape, place, _, num_bytes, *_ = descriptor
            if place == SHARED:
                self._tensors.append((None, None, *incoming.find(descriptor)))
                continue
            self._tensors.append((shape, dtype, at, at + num_bytes))
            at += num_bytes

    def _read(self, buffer: bytearray, first: int) -> list[Any]:
        """`read`, until it has been used often enough to be written out."""
        self._uses += 1
        if self._uses == _USES_BEFORE_CODE:
            self.read = _reader(self._tensors)
        tensors = []
        for shape, dtype, at, end in self._tensors:
            if dtype is None:
                tensors.append(np.asarray(Lease(at, end)))
            else:
                tensors.append(np.ndarray(shape, dtype, buffer[first + at : first + end]))
        return tensors


def _reader(tensors: Sequence[tuple[Any, Any, Any, Any]]) -> Callable[[bytearray, int], list[Any]]:
    """`ReceivedTemplate.read` without a loop. Whole numbers are not made into arrays first."""
    scope: dict[str, Any] = {"asarray": np.asarray, "Lease": Lease, "ndarray": np.ndarray}
    parts = []
    for number, (shape, dtype, at, end) in enumerate(tensors):
        if dtype is None:
            scope |= {f"mapping{number}": at, f"seat{number}": end}
            parts.append(f"asarray(Lease(mapping{number}, seat{number}))")
        elif not shape and dtype.char in _NUMBERS:
            scope |= {f"type{number}": dtype.type, f"get{number}": _NUMBERS[dtype.char].unpack_from}
            parts.append(f"type{number}(get{number}(buffer, first + {at})[0])")
        else:
            scope |= {f"shape{number}": shape, f"dtype{number}": dtype}
            data = f"buffer[first + {at} : first + {end}]"
            parts.append(f"ndarray(shape{number}, dtype{number}, {data})")
    exec(f"def read(buffer, first):\n    return [{', '.join(parts)}]", scope)
    return scope["read"]  # type: ignore[no-any-return]


def received_template(
    message: Message,
    begins: bytes,
    descriptors: Sequence[Descriptor],
    size: int,
    incoming: IncomingSegments,
) -> ReceivedTemplate | None:
    """The template of a frame, if all of its tensors are numeric."""
    if (
        message.head is not None
        or len(begins) > _LONGEST
        or any(d.dtype is None or d.dtype == _BOOL for d in descriptors)
    ):
        return None
    return ReceivedTemplate(message, begins, descriptors, size, incoming)


def remember(forms: dict[Any, Any], key: Any, form: Any) -> None:
    """Keep a template; a connection whose frames never repeat keeps only a few."""
    if len(forms) >= _MOST_FORMS:
        forms.clear()
    forms[key] = form


def remember_one_of(forms: dict[Any, list[Any]], key: Any, form: Any) -> None:
    """The same for several templates under one key."""
    found = forms.get(key)
    if found is None or len(found) >= _MOST_OF_A_KEY:
        remember(forms, key, [form])
    else:
        found.append(form)


assert BEGINNING.size == 16 < HEADER.size
