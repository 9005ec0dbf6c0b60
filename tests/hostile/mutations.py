"""Damage to bytes and to protocol buffers, drawn from a `random.Random`."""

from __future__ import annotations

import random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

#: What lengths, counts and offsets are replaced with.
NUMBERS = [0, 1, -1, 2, 7, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1]
TEXTS = ["", "a", ":0", "^x", "x:-1", "/", "../..", "a b", "\0", "é", "x" * 1000, "%s%n", "True"]


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """One to four changes: bytes, numbers, pieces that are cut, doubled, moved or from elsewhere."""
    result = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        size = len(result)
        at = rng.randrange(size) if size else 0
        length = min(rng.choice([1, 2, 4, 8, 30]), size - at)
        kind = rng.randrange(8)
        if kind == 0 and size:
            result[at] = rng.randrange(256)
        elif kind == 1 and size:
            result[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            width = rng.choice([1, 2, 4, 8])
            number = rng.choice(NUMBERS) % (1 << 8 * width)
            result[at : at + width] = number.to_bytes(width, rng.choice(["little", "big"]))
        elif kind == 3:
            del result[at : at + length]
        elif kind == 4:
            result[at:at] = result[at : at + length] * rng.choice([1, 1, 1, 100])
        elif kind == 5:
            result[at:at] = rng.randbytes(length)
        elif kind == 6:
            del result[at:]
        elif size:
            start = rng.randrange(size)
            result[at : at + length] = result[start : start + length]
    return bytes(result)


def damage_message(message: Any, rng: random.Random) -> None:
    """Changes one field somewhere in a protocol buffer, or drops, doubles or swaps it."""
    is_set, is_not = _fields(message)
    for _ in range(rng.choice([1, 1, 2, 3])):
        # Most fields are not set; what is done to those that are tells more.
        fields = is_set if is_set and rng.random() < 0.85 else is_not
        if fields:
            _change(*rng.choice(fields), rng)


_Fields = list[tuple[Any, FieldDescriptor]]


def _fields(message: Any) -> tuple[_Fields, _Fields]:
    """The fields that are set, here and in what it holds, and those that are not."""
    is_set = [(message, field) for field, _ in message.ListFields()]
    names = {field.name for _, field in is_set}
    is_not = [(message, f) for f in message.DESCRIPTOR.fields if f.name not in names]
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if _is_map(field):
            inside = [value[key] for key in sorted(value)]  # the map's own order changes
            inside = inside if field.message_type.fields[1].message_type else []
        else:
            inside = list(value) if field.is_repeated else [value]
        for item in inside:
            more_set, more_not = _fields(item)
            is_set += more_set
            is_not += more_not
    return is_set, is_not


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _change(owner: Any, field: FieldDescriptor, rng: random.Random) -> None:
    value = getattr(owner, field.name)
    if _is_map(field):
        keys = sorted(value)
        if keys and rng.random() < 0.5:
            del value[rng.choice(keys)]
        elif keys and field.message_type.fields[1].message_type is not None:
            value[rng.choice([*keys, "T", "N", "dtype"])].CopyFrom(value[rng.choice(keys)])
    elif field.is_repeated:
        items = list(value)
        kind = rng.randrange(4)
        if kind == 0 and items:
            del value[rng.randrange(len(items))]
        elif kind == 1 and items:
            value.append(rng.choice(items))
        elif kind == 2 and len(items) > 1:
            del value[:]
            rng.shuffle(items)
            value.extend(items)
        elif field.message_type is not None:
            value.add()
        elif items:
            value[rng.randrange(len(items))] = _scalar(field, rng)
        else:
            value.append(_scalar(field, rng))
    elif field.message_type is not None:
        if rng.random() < 0.5:
            owner.ClearField(field.name)
        else:
            value.SetInParent()
    else:
        setattr(owner, field.name, _scalar(field, rng))


def _scalar(field: FieldDescriptor, rng: random.Random) -> Any:
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING:
        text = rng.choice(TEXTS)
        return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return rng.choice([0.0, -1.0, 1e30, float("inf"), float("nan")])
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return rng.choice([v.number for v in field.enum_type.values])
    bits = 64 if kind in (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64) else 32
    signed = kind in (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_INT32)
    number = rng.choice(NUMBERS) % (1 << bits)
    return number - (1 << bits) if signed and number >= 1 << (bits - 1) else number


def damage_json(value: Any, rng: random.Random) -> Any:
    """``value`` (of JSON) with one part of it replaced, dropped or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        kind = rng.randrange(6)
        if kind == 0:
            return {k: v for k, v in value.items() if k != key}
        if kind == 1:
            return {**value, rng.choice(TEXTS): value[key]}
        return {**value, key: damage_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], damage_json(value[at], rng), *value[at + 1 :]]
    return rng.choice([None, True, 1.5, "", [], {}, [None], {"a": 1}, *NUMBERS, *TEXTS])
