"""``tensorflow.python.tpu.tpu_function``: how many shards the graph under construction has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class TpuContext:
    """What code asks for ``number_of_shards``; None outside of `tpu_shard_context`."""

    def __init__(self) -> None:
        self.number_of_shards: int | None = None

    def set_number_of_shards(self, number_of_shards: int | None) -> None:
        """Sets what ``number_of_shards`` is from now on."""
        self.number_of_shards = number_of_shards


_context = TpuContext()


def get_tpu_context() -> TpuContext:
    """The context."""
    return _context


@contextlib.contextmanager
def tpu_shard_context(number_of_shards: int) -> Iterator[None]:
    """A block within which the context tells that number; raises `NotImplementedError` inside another."""
    if _context.number_of_shards is not None:
        raise NotImplementedError("tpu_shard_context cannot be nested")
    _context.number_of_shards = number_of_shards
    try:
        yield
    finally:
        _context.number_of_shards = None
