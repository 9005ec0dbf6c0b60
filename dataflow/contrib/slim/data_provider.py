"""``slim.data_provider``: tensors of a data set by the names of its items."""

from __future__ import annotations

from typing import Any

__all__ = ["DataProvider"]


class DataProvider:
    """Tensors by name; of a data set of ``num_samples`` examples."""

    def __init__(self, items_to_tensors: dict[str, Any], num_samples: int) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Any) -> list[Any]:
        """The tensors of the ``items``. Raises `ValueError` for a name that there is not."""
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Item [{item}] is not available: there are {self.list_items()}.")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """The names of all items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int:
        """How many examples the data set has."""
        return self._num_samples
