"""Device names: ``/job:worker/replica:0/task:7/device:GPU:0``, whole or in part."""

from __future__ import annotations

import functools
import re
from typing import Any

_PART = re.compile(r"^(job|replica|task):(.+)$", re.IGNORECASE)


class DeviceSpec:
    """A possibly partial device name; fields that are ``None`` are left open."""

    __slots__ = ("device_index", "device_type", "job", "replica", "task")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job or None
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = _type_of(device_type) if device_type else None
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Parses ``spec``; raises `ValueError` with the part that is wrong."""
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Sets the fields from ``spec`` and returns this object."""
        fields = _parse(spec)
        self.job, self.replica, self.task, self.device_type, self.device_index = fields
        return self

    def to_string(self) -> str:
        """The canonical text, with ``/device:GPU:0`` for the last part."""
        parts = []
        if self.job is not None:
            parts.append(f"/job:{self.job}")
        if self.replica is not None:
            parts.append(f"/replica:{self.replica}")
        if self.task is not None:
            parts.append(f"/task:{self.task}")
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append(f"/device:{self.device_type}:{index}")
        return "".join(parts)

    def merge_from(self, other: DeviceSpec) -> None:
        """Takes over every field that ``other`` sets."""
        if other.job is not None:
            self.job = other.job
        if other.replica is not None:
            self.replica = other.replica
        if other.task is not None:
            self.task = other.task
        if other.device_type is not None:
            self.device_type = other.device_type
        if other.device_index is not None:
            self.device_index = other.device_index

    def make_merged_spec(self, other: DeviceSpec) -> DeviceSpec:
        """A new spec: this one with the fields of ``other`` on top."""
        merged = DeviceSpec(*self._fields)
        merged.merge_from(other)
        return merged

    def replace(self, **fields: Any) -> DeviceSpec:
        """A new spec with some fields changed, such as ``task=1``."""
        named = dict(zip(self._NAMES, self._fields, strict=True))
        return DeviceSpec(**(named | fields))

    _NAMES = ("job", "replica", "task", "device_type", "device_index")

    @property
    def _fields(self) -> tuple[Any, ...]:
        return (self.job, self.replica, self.task, self.device_type, self.device_index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


def _type_of(text: str) -> str:
    """``GPU`` of ``gpu``; a type of another name is as it is written."""
    return text.upper() if text.lower() in ("cpu", "gpu") else text


@functools.lru_cache(maxsize=4096)
def _parse(spec: str) -> tuple[str | None, int | None, int | None, str | None, int | None]:
    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None
    for part in spec.split("/"):
        if not part or part.startswith(":"):
            continue  # TensorFlow 1 passes over a part without a name: ":/cpu:0" is "/cpu:0"
        match = _PART.match(part)
        if match is None and device_type is not None:
            raise ValueError(f"Multiple device types are not allowed in the device name {spec!r}")
        try:
            if match:
                key, value = match[1].lower(), match[2]
                if key == "job":
                    job = value
                elif key == "replica":
                    replica = int(value)
                else:
                    task = int(value)
                continue
            fields = part.split(":")
            if fields[0].lower() == "device" and len(fields) == 3:
                fields = fields[1:]
            if len(fields) == 2 and fields[0].isidentifier():
                device_type = _type_of(fields[0])
                device_index = None if fields[1] == "*" else int(fields[1])
                continue
            if len(fields) == 1 and fields[0].lower() in ("cpu", "gpu"):
                device_type = fields[0].upper()
                continue
        except ValueError:
            pass
        raise ValueError(
            f"Unknown part {part!r} in the device name {spec!r}. "
            "Write for example /cpu:0, /gpu:1, /job:ps/task:0 or /job:worker/task:7/device:GPU:0."
        )
    return job, replica, task, device_type, device_index


@functools.lru_cache(maxsize=4096)
def canonical_name(device: str) -> str:
    """The canonical text of a device name (``/cpu:0`` becomes ``/device:CPU:0``)."""
    return DeviceSpec.from_string(device).to_string() if device else ""


@functools.lru_cache(maxsize=4096)
def merge_names(outer: str, inner: str) -> str:
    """``inner`` on top of ``outer``: what the inner one leaves open comes from the outer one."""
    spec = DeviceSpec.from_string(outer)
    spec.merge_from(DeviceSpec.from_string(inner))
    return spec.to_string()


def merge_device(spec: Any) -> Any:
    """A device function that adds ``spec`` to a node's device; fields already set there win."""
    text = spec.to_string() if isinstance(spec, DeviceSpec) else (spec or "")

    def device_function(node: Any) -> str:
        return merge_names(text, getattr(node, "device", "") or "")

    return device_function
