"""``tensorflow.python.ops.parallel_for.test_util``: the base of the tests of functions that run for many numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.nest import flatten
from dataflow.ops.sparse_tensor import SparseTensorValue
from dataflow.ops.variable_lists import global_variables_initializer
from dataflow.python.parallel_for import for_loop, pfor
from dataflow.test import TestCase

__all__ = ["PForTestCase"]


class PForTestCase(TestCase):
    """Tests that `pfor` and `for_loop` compute the same."""

    def _run_targets(self, targets1: Any, targets2: Any = None, run_init: bool = True) -> Any:
        first = flatten(targets1)
        second = [] if targets2 is None else flatten(targets2)
        assert len(first) == len(second) or not second
        if run_init:
            self.evaluate(global_variables_initializer())
        return self.evaluate(first + second)

    def run_and_assert_equal(self, targets1: Any, targets2: Any) -> None:
        """Runs both, and compares what they give: numbers nearly, everything else exactly."""
        outputs: list[Any] = []
        for value in self._run_targets(targets1, targets2):
            outputs.extend(value if isinstance(value, SparseTensorValue) else [value])
        half = len(outputs) // 2
        for one, other in zip(outputs[:half], outputs[half:], strict=True):
            if isinstance(one, bytes) or one.dtype.kind == "O":
                self.assertAllEqual(other, one)
            else:
                self.assertAllClose(other, one, rtol=1e-4, atol=1e-5)

    def _test_loop_fn(
        self,
        loop_fn: Callable[..., Any],
        iters: Any,
        loop_fn_dtypes: Any = dtypes.float32,
        parallel_iterations: int | None = None,
    ) -> None:
        one = pfor(loop_fn, iters=iters, parallel_iterations=parallel_iterations)
        other = for_loop(
            loop_fn, loop_fn_dtypes, iters=iters, parallel_iterations=parallel_iterations
        )
        self.run_and_assert_equal(one, other)
