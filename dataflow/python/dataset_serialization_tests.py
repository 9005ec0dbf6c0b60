"""TensorFlow's base of tests that save and restore iterators (``dataset_serialization_test_base``)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow
from dataflow import data, errors, test
from dataflow.data.options import Options
from dataflow.dtypes import variant
from dataflow.graph.collections import GraphKeys
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.python import data_nest
from dataflow.train.checkpoint_management import latest_checkpoint

__all__ = ["DatasetSerializationTestBase", "remove_variants"]

_COLLECTION = "iterator_ops"
#: Its names are in stubs.
tf: Any = dataflow


def remove_variants(get_next_op: Any) -> Any:
    """The element with ``()`` for each variant, which a session does not fetch."""

    def fetched(x: Any) -> Any:
        return () if isinstance(x, Tensor) and x.dtype == variant else x

    return tf.nest.map_structure(fetched, get_next_op)


class DatasetSerializationTestBase(test.TestCase):
    """A test whose iterators are saved, and restored in another graph and session.

    ``ds_fn`` makes the dataset, ``num_outputs`` is the number of its elements. A *break* is a place where the iterator is
    saved, and restored in a new session.
    """

    def run_core_tests(
        self, ds_fn: Callable[[], Any], num_outputs: int, sparse_tensors: bool = False
    ) -> None:
        """Breaks at the start, at the end, after the end, at many places; a new start after a restore."""

        def plain() -> Any:
            options = Options()
            options.experimental_optimization.apply_default_optimizations = False
            return ds_fn().with_options(options)

        self.verify_unused_iterator(plain, num_outputs, sparse_tensors)
        self.verify_fully_used_iterator(plain, num_outputs, sparse_tensors)
        self.verify_exhausted_iterator(plain, num_outputs, sparse_tensors)
        self.verify_multiple_breaks(plain, num_outputs, sparse_tensors=sparse_tensors)
        self.verify_reset_restored_iterator(plain, num_outputs, sparse_tensors=sparse_tensors)

    def verify_unused_iterator(
        self,
        ds_fn: Callable[[], Any],
        num_outputs: int,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
    ) -> None:
        """A break before the first element."""
        self.verify_run_with_breaks(ds_fn, [0], num_outputs, sparse_tensors, verify_exhausted)

    def verify_fully_used_iterator(
        self, ds_fn: Callable[[], Any], num_outputs: int, sparse_tensors: bool = False
    ) -> None:
        """A break after the last element."""
        self.verify_run_with_breaks(ds_fn, [num_outputs], num_outputs, sparse_tensors)

    def verify_exhausted_iterator(
        self, ds_fn: Callable[[], Any], num_outputs: int, sparse_tensors: bool = False
    ) -> None:
        """A break after the end was found."""
        self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors)
        after = self.gen_outputs(ds_fn, [], 0, ckpt_saved=True, sparse_tensors=sparse_tensors)
        self.assertEqual(len(after), 0)

    def verify_multiple_breaks(
        self,
        ds_fn: Callable[[], Any],
        num_outputs: int,
        num_breaks: int = 10,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
    ) -> None:
        """``num_breaks`` breaks at equal distances."""
        places = self.gen_break_points(num_outputs, num_breaks)
        self.verify_run_with_breaks(ds_fn, places, num_outputs, sparse_tensors, verify_exhausted)

    def verify_reset_restored_iterator(
        self,
        ds_fn: Callable[[], Any],
        num_outputs: int,
        break_point: int | None = None,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
    ) -> None:
        """An iterator that is restored and then initialized gives all elements."""
        expected = self.gen_outputs(ds_fn, [], num_outputs, False, sparse_tensors, verify_exhausted)
        self.gen_outputs(ds_fn, [], break_point or num_outputs // 2, False, sparse_tensors, False)
        with Graph().as_default() as graph:
            saver = self._import_meta_graph()
            start, element = self._get_iterator_ops_from_collection(ds_fn, sparse_tensors)
            element = remove_variants(element)
            with self.session(graph=graph) as sess:
                self._initialize(start, sess)
                self._restore(saver, sess)
                self._initialize(start, sess)
                actual = [sess.run(element) for _ in range(num_outputs)]
                if verify_exhausted:
                    with self.assertRaises(errors.OutOfRangeError):
                        sess.run(element)
        self.match(expected, actual)

    def verify_error_on_save(
        self,
        ds_fn: Callable[[], Any],
        num_outputs: int,
        error: Any,
        break_point: int | None = None,
        sparse_tensors: bool = False,
    ) -> None:
        """Saving in the middle raises ``error``."""
        with Graph().as_default() as graph:
            start, element, saver = self._build_graph(ds_fn, sparse_tensors)
            element = remove_variants(element)
            with self.session(graph=graph) as sess:
                self._initialize(start, sess)
                for _ in range(break_point or num_outputs // 2):
                    sess.run(element)
                with self.assertRaises(error):
                    self._save(sess, saver)

    def verify_run_with_breaks(
        self,
        ds_fn: Callable[[], Any],
        break_points: Any,
        num_outputs: int,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
    ) -> None:
        """The elements with breaks are those without."""
        how = {"sparse_tensors": sparse_tensors, "verify_exhausted": verify_exhausted}
        expected = self.gen_outputs(ds_fn, [], num_outputs, **how)
        self.match(expected, self.gen_outputs(ds_fn, break_points, num_outputs, **how))

    def gen_outputs(
        self,
        ds_fn: Callable[[], Any],
        break_points: Any,
        num_outputs: int,
        ckpt_saved: bool = False,
        sparse_tensors: bool = False,
        verify_exhausted: bool = True,
        save_checkpoint_at_end: bool = True,
    ) -> list[Any]:
        """The first ``num_outputs`` elements, with a break at each of ``break_points``.

        With ``ckpt_saved`` the first graph and position are those that were saved before.
        """
        outputs: list[Any] = []
        places = [0, *break_points, num_outputs]
        for number, (begin, end) in enumerate(itertools.pairwise(places)):
            is_last = number == len(places) - 2
            with Graph().as_default() as graph:
                if ckpt_saved:
                    saver = self._import_meta_graph()
                    start, element = self._get_iterator_ops_from_collection(ds_fn, sparse_tensors)
                else:
                    start, element, saver = self._build_graph(ds_fn, sparse_tensors)
                element = remove_variants(element)
                with self.session(graph=graph) as sess:
                    self._initialize(start, sess)
                    if ckpt_saved:
                        self._restore(saver, sess)
                    outputs.extend(sess.run(element) for _ in range(end - begin))
                    if is_last and verify_exhausted:
                        with self.assertRaises(errors.OutOfRangeError):
                            sess.run(element)
                    if save_checkpoint_at_end or not is_last:
                        self._save(sess, saver)
                        ckpt_saved = True
        return outputs

    def match(self, expected: Any, actual: Any) -> None:
        """Raises `AssertionError` where two nestings of values differ."""
        expected, actual = (
            x.tolist() if isinstance(x, np.ndarray) else x for x in (expected, actual)
        )
        self.assertEqual(type(expected), type(actual))
        if isinstance(expected, SparseTensorValue):
            for one, other in zip(expected, actual, strict=True):
                self.match(one, other)
        elif hasattr(expected, "row_splits"):
            self.match(expected.values, actual.values)
            self.match(expected.row_splits, actual.row_splits)
        elif isinstance(expected, dict):
            self.assertEqual(sorted(expected), sorted(actual))
            for key in expected:
                self.match(expected[key], actual[key])
        elif isinstance(expected, (list, tuple)):
            self.assertEqual(len(expected), len(actual))
            for one, other in zip(expected, actual, strict=True):
                self.match(one, other)
        else:
            self.assertEqual(expected, actual)

    def does_not_match(self, expected: Any, actual: Any) -> None:
        """Raises `AssertionError` where two nestings of values are equal."""
        with self.assertRaises(AssertionError):
            self.match(expected, actual)

    def gen_break_points(self, num_outputs: int, num_samples: int = 10) -> Any:
        """``num_samples`` whole numbers from 0 to ``num_outputs``, an int64 array."""
        return np.linspace(0, num_outputs, num_samples, dtype=int)

    def _build_graph(self, ds_fn: Callable[[], Any], sparse_tensors: bool = False) -> Any:
        iterator = data.make_initializable_iterator(ds_fn())
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        tf.add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)
        element = iterator.get_next()
        if sparse_tensors:
            element = SparseTensor(*element)
        self._add_iterator_ops_to_collection(iterator.initializer, element, ds_fn, sparse_tensors)
        return iterator.initializer, element, tf.train.Saver(allow_empty=True)

    def _add_iterator_ops_to_collection(
        self, init_op: Any, get_next: Any, ds_fn: Any, sparse_tensors: bool = False
    ) -> None:
        tf.add_to_collection(_COLLECTION, init_op)
        leaves = [get_next] if sparse_tensors else data_nest.flatten(get_next)
        for leaf in leaves:
            is_sparse = isinstance(leaf, SparseTensor)
            parts = (leaf.indices, leaf.values, leaf.dense_shape) if is_sparse else (leaf,)
            for part in parts:
                tf.add_to_collection(_COLLECTION, part)

    def _get_iterator_ops_from_collection(
        self, ds_fn: Callable[[], Any], sparse_tensors: bool = False
    ) -> tuple[Any, Any]:
        start, *parts = tf.get_collection(_COLLECTION)
        if sparse_tensors:
            return start, SparseTensor(*parts)
        leaves: list[Any] = []
        for kind in data_nest.flatten(self._get_output_classes(ds_fn)):
            count = 3 if kind is SparseTensor else 1
            taken, parts = parts[:count], parts[count:]
            leaves.append(SparseTensor(*taken) if count == 3 else taken[0])
        return start, data_nest.pack_sequence_as(self._get_output_types(ds_fn), leaves)

    def _get_output_types(self, ds_fn: Callable[[], Any]) -> Any:
        with Graph().as_default():
            return data.get_output_types(ds_fn())

    def _get_output_shapes(self, ds_fn: Callable[[], Any]) -> Any:
        with Graph().as_default():
            return data.get_output_shapes(ds_fn())

    def _get_output_classes(self, ds_fn: Callable[[], Any]) -> Any:
        with Graph().as_default():
            return data.get_output_classes(ds_fn())

    def _ckpt_path(self) -> str:
        return os.path.join(self.get_temp_dir(), "iterator")

    def _latest_ckpt(self) -> Any:
        return latest_checkpoint(self.get_temp_dir())

    def _save(self, sess: Any, saver: Any) -> None:
        saver.save(sess, self._ckpt_path())

    def _restore(self, saver: Any, sess: Any) -> None:
        sess.run(tf.tables_initializer())
        saver.restore(sess, self._latest_ckpt())

    def _initialize(self, init_op: Any, sess: Any) -> None:
        sess.run(tf.global_variables_initializer())
        sess.run(tf.tables_initializer())
        sess.run(init_op)

    def _import_meta_graph(self) -> Any:
        return tf.train.import_meta_graph(self._ckpt_path() + ".meta")
