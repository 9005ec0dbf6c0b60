"""``slim.data_decoder``: what turns a record into the tensors of an example."""

from __future__ import annotations

import abc
from typing import Any

__all__ = ["DataDecoder"]


class DataDecoder(abc.ABC):
    """Turns a record of a file into tensors, which are named items."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Any) -> Any:
        """The tensors of the ``items``, of one record."""

    @abc.abstractmethod
    def list_items(self) -> Any:
        """The names of all items."""
