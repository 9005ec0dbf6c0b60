"""``tensorflow.python.data.kernel_tests.test_base``: what tests of datasets are written with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dataflow import data, dtypes, errors, test
from dataflow.graph.eager import executing_eagerly
from dataflow.ops.array import zeros
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.ops.tensor_array import TensorArray
from dataflow.python import data_nest
from dataflow.python.test_combinations import combine

__all__ = ["DatasetTestBase", "default_test_combinations"]


def default_test_combinations() -> list[dict[str, Any]]:
    """Both versions of TensorFlow's interface, each in eager code and in graphs."""
    return combine(tf_api_version=[1, 2], mode=["eager", "graph"])


class DatasetTestBase(test.TestCase):
    """A test of datasets: iterators, and comparisons of what they give."""

    def assert_op_cancelled(self, op: Any) -> None:
        """Running ``op`` ends with `CancelledError`."""
        with self.assertRaises(errors.CancelledError):
            self.evaluate(op)

    def assertValuesEqual(self, expected: Any, actual: Any) -> None:
        """Two arrays, or two sparse values, are equal."""
        if isinstance(expected, (SparseTensor, SparseTensorValue)):
            for part in ("indices", "values", "dense_shape"):
                self.assertAllEqual(getattr(expected, part), getattr(actual, part))
        else:
            self.assertAllEqual(expected, actual)

    def getNext(
        self, dataset: Any, requires_initialization: bool = False, shared_name: str | None = None
    ) -> Callable[[], Any]:
        """A function that returns what gives the next element when it is evaluated."""
        if executing_eagerly():
            elements = iter(dataset)

            def following() -> Any:
                try:
                    element = next(elements)
                except StopIteration:
                    raise errors.OutOfRangeError(None, None, "End of sequence") from None
                return element.stack() if isinstance(element, TensorArray) else element

            return following
        if requires_initialization:
            iterator = data.make_initializable_iterator(dataset, shared_name)
            self.evaluate(iterator.initializer)
        else:
            iterator = data.make_one_shot_iterator(dataset)
        element = iterator.get_next()
        if isinstance(element, TensorArray):
            element = element.stack()
        return lambda: element

    def assertDatasetProduces(
        self,
        dataset: Any,
        expected_output: Any = None,
        expected_shapes: Any = None,
        expected_error: Any = None,
        requires_initialization: bool = False,
        num_test_iterations: int = 1,
        assert_items_equal: bool = False,
        expected_error_iter: int = 1,
    ) -> None:
        """The dataset gives just these elements, in any order with ``assert_items_equal``.

        Or it raises ``expected_error``, (class, text or predicate), within ``expected_error_iter`` elements.
        """
        self.assertNotEqual(
            expected_error is None, expected_output is None, "either an output or an error"
        )
        if expected_error:
            with self.assertRaisesWithPredicateMatch(*expected_error):
                get_next = self.getNext(dataset, requires_initialization)
                for _ in range(expected_error_iter):
                    self.evaluate(get_next())
            return
        if expected_shapes:
            self.assertEqual(expected_shapes, data.get_output_shapes(dataset))
        self.assertGreater(num_test_iterations, 0)
        for _ in range(num_test_iterations):
            get_next = self.getNext(dataset, requires_initialization)
            found = [self.evaluate(get_next()) for _ in expected_output]
            if assert_items_equal:
                self.assertCountEqual(found, expected_output)
            else:
                for actual, expected in zip(found, expected_output, strict=True):
                    data_nest.assert_same_structure(actual, expected)
                    pairs = zip(data_nest.flatten(actual), data_nest.flatten(expected), strict=True)
                    for actual_part, expected_part in pairs:
                        self.assertValuesEqual(expected_part, actual_part)
            for _ in range(2):
                with self.assertRaises(errors.OutOfRangeError):
                    self.evaluate(get_next())

    def assertDatasetsEqual(self, dataset1: Any, dataset2: Any) -> None:
        """Both datasets give equal elements, of equal dtypes, and as many."""
        types = data.get_output_types(dataset1)
        self.assertEqual(types, data.get_output_types(dataset2))
        next1, next2 = self.getNext(dataset1), self.getNext(dataset2)
        while True:
            try:
                element1 = self.evaluate(next1())
            except errors.OutOfRangeError:
                with self.assertRaises(errors.OutOfRangeError):
                    self.evaluate(next2())
                return
            parts = zip(
                data_nest.flatten(element1),
                data_nest.flatten(self.evaluate(next2())),
                data_nest.flatten(types),
                strict=True,
            )
            for part1, part2, dtype in parts:
                if isinstance(part1, SparseTensorValue) or dtype == dtypes.string:
                    self.assertValuesEqual(part1, part2)
                else:
                    self.assertAllClose(part1, part2)

    def structuredDataset(
        self, dataset_structure: Any, shape: Any = None, dtype: Any = dtypes.int64
    ) -> Any:
        """A dataset of one element of zeros: a tensor for None, a tuple for a tuple."""
        if dataset_structure is None:
            return data.Dataset.from_tensors(zeros(shape or [], dtype=dtype))
        return data.Dataset.zip(
            tuple(self.structuredDataset(part, shape, dtype) for part in dataset_structure)
        )

    def structuredElement(
        self, element_structure: Any, shape: Any = None, dtype: Any = dtypes.int64
    ) -> Any:
        """The element of `structuredDataset`: zeros, or a tuple of such elements."""
        if element_structure is None:
            return zeros(shape or [], dtype=dtype)
        return tuple(self.structuredElement(part, shape, dtype) for part in element_structure)

    def assertDatasetsRaiseSameError(
        self, dataset1: Any, dataset2: Any, exception_class: Any, replacements: Any = None
    ) -> None:
        """The first elements of both raise ``exception_class``, with the same message.

        ``replacements``: (old, new, count), how the first one's text becomes the second one's.
        """
        next1, next2 = self.getNext(dataset1), self.getNext(dataset2)
        with self.assertRaises(exception_class) as caught:
            self.evaluate(next1())
        message = caught.exception.message
        for old, new, count in replacements or ():
            message = message.replace(old, new, count)
        with self.assertRaisesRegex(exception_class, re.escape(message)):
            self.evaluate(next2())
