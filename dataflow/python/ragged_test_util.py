"""``tensorflow.python.ops.ragged.ragged_test_util``: a `TestCase` that compares ragged tensors."""

from __future__ import annotations

from typing import Any

from dataflow.ops.ragged_value import RaggedTensorValue, is_value
from dataflow.test import TestCase

__all__ = ["RaggedTensorTestCase"]


class RaggedTensorTestCase(TestCase):
    """`tf.test.TestCase` with comparisons of ragged tensors, their values and lists of lists."""

    def _as_list(self, a: Any) -> Any:
        a = self.eval_to_list(a)
        return a.tolist() if hasattr(a, "tolist") else a

    def eval_to_list(self, tensor: Any) -> Any:
        """The value of a tensor, ragged or not, as lists of lists."""
        value = tensor if isinstance(tensor, RaggedTensorValue) else self._value(tensor)
        return value.to_list() if is_value(value) else getattr(value, "tolist", lambda: value)()

    def assertRaggedEqual(self, a: Any, b: Any) -> None:
        """The same rows with the same elements."""
        first, second = self._as_list(a), self._as_list(b)
        if first != second:
            self.fail(f"The rows differ: {first} and {second}.")

    def assertRaggedAlmostEqual(self, a: Any, b: Any, places: int = 7) -> None:
        """The same rows with elements that are close."""
        first, second = self._as_list(a), self._as_list(b)
        if not _are_near(first, second, places):
            self.fail(f"The rows are not within {places} places: {first} and {second}.")


def _are_near(a: Any, b: Any, places: int) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_are_near(x, y, places) for x, y in zip(a, b, strict=True))
    return not isinstance(a, list) and not isinstance(b, list) and round(abs(a - b), places) == 0
