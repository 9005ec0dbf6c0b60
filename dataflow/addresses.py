"""Addresses of tasks: host and port, and what is none."""

from __future__ import annotations

from dataflow.errors import (
    InvalidArgumentError,
)


class AddressError(InvalidArgumentError, ValueError):
    """No address of a task: TensorFlow's class, and Python's."""


def split_address(address: str) -> tuple[str, int]:
    """Return (host, port) of ``host:port`` or ``grpc://host:port``.

    Raises ValueError that names the actual and the required value.
    """
    text = address.removeprefix("grpc://")
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise AddressError(
            None, None, f"{address!r} is not a task's address: it must be 'host:port', with a port."
        )
    return host.strip("[]"), int(port)
