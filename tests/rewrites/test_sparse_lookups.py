"""Lookups of sparse ids as one kernel: the same bits, forward, backward and in the variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.sparse_lookup import safe_embedding_lookup_kernel as sparse_lookup_kernel
from tests.rewrites.rewritten import rewritten, types
from tests.rewrites.test_multi_output_fusion import both

#: Indices, ids and number of rows; what is special about each.
IDS: dict[str, tuple[Any, Any, int]] = {
    "one each": ([[0, 0], [1, 0], [2, 0], [3, 0]], [2, 0, 2, 1], 4),
    "one each, one dropped": ([[0, 0], [1, 0], [2, 0], [3, 0]], [2, -1, 2, 1], 4),
    "empty rows and repeated ids": ([[1, 0], [1, 1], [4, 0], [4, 1]], [4, 4, 0, 4], 6),
    "as many ids as rows": ([[0, 0], [0, 1], [2, 0]], [1, 1, 3], 3),
    "all dropped": ([[0, 0], [1, 1]], [-1, -5], 2),
    "no ids": (np.zeros((0, 2)), [], 3),
}


def rules(plan: Any) -> list[str]:
    return [hit.rule for hit in plan.journal]


def lookup(ids_dtype: Any = tf.int64) -> tuple[Any, dict[str, Any]]:
    """A sparse placeholder of rank 2, and its values by name."""
    sparse = tf.sparse_placeholder(ids_dtype, [None, 3])
    return sparse, {
        name: (np.array(at, np.int64), np.array(ids, ids_dtype.as_numpy_dtype), [rows, 3])
        for name, (at, ids, rows) in IDS.items()
    }


def flat(sparse: Any, value: Any) -> dict[Any, Any]:
    at, ids, shape = value
    return {
        sparse.indices: at.reshape(-1, 2),
        sparse.values: ids,
        sparse.dense_shape: np.array(shape, np.int64),
    }


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("columns", [1, 3])
def test_values_and_gradients(either: None, dtype: Any, combiner: str, columns: int) -> None:
    sparse, values = lookup()
    start = np.random.default_rng(1).normal(size=(5, columns)).astype(dtype.as_numpy_dtype)
    start[3, 0] = -0.0
    params = tf.placeholder(dtype, [None, columns])
    y = tf.nn.safe_embedding_lookup_sparse([params], sparse, combiner=combiner)
    gradient = tf.gradients(tf.reduce_sum(y * y + y), params)[0]
    for name, value in values.items():
        feeds = {params: start, **flat(sparse, value)}
        plan, got, wanted = both([y, gradient.values, gradient.indices], feeds)
        assert "sparse_lookup" in rules(plan) and "zero_rows" in rules(plan), name
        assert not {"SparseFillEmptyRows", "Tile", "Select"} & set(types(plan))
        for a, b in zip(got, wanted, strict=True):
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name


def train(off: bool, optimizer: Any, ids_dtype: Any) -> tuple[list[Any], list[str]]:
    """Losses and variables of a short training, and the rules that were applied."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = off
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        sparse, values = lookup(ids_dtype)
        table = tf.Variable(np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32))
        loss = tf.reduce_sum(tf.square(tf.nn.safe_embedding_lookup_sparse([table], sparse) - 1.0))
        step = optimizer().minimize(loss)
        session.run(tf.global_variables_initializer())
        feeds = [flat(sparse, value) for value in values.values()]
        seen = [session.run([step, loss], feed)[1] for feed in feeds * 3]
        seen += session.run(tf.global_variables())
        return seen, rules(rewritten(session, [step, loss], list(feeds[0])))


@pytest.mark.parametrize("ids_dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.train.AdagradOptimizer(0.1),
        lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        lambda: tf.train.AdamOptimizer(0.1),
        lambda: tf.train.GradientDescentOptimizer(0.1),
    ],
    ids=["adagrad", "ftrl", "adam", "sgd"],
)
def test_training_is_the_same(optimizer: Any, ids_dtype: Any) -> None:
    plain, _ = train(True, optimizer, ids_dtype)
    optimized, applied = train(False, optimizer, ids_dtype)
    assert "sparse_lookup" in applied
    for a, b in zip(optimized, plain, strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_are_not_made_distinct_twice() -> None:
    sparse, _ = lookup()
    table = tf.Variable(np.ones((5, 3), np.float32))
    loss = tf.reduce_sum(tf.nn.safe_embedding_lookup_sparse([table], sparse))
    step = tf.train.AdagradOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = [sparse.indices, sparse.values, sparse.dense_shape]
        plan = rewritten(session, step, feeds)
    assert "distinct_rows" in rules(plan)
    assert "Unique" not in types(plan)
    assert "UnsortedSegmentSum" not in types(plan) and "GatherV2" not in types(plan)


def test_a_sum_of_rows_that_are_seen_as_they_were_stays() -> None:
    """Of ids that are not known to differ, and of rows that may hold -0.0, which a sum makes 0.0."""
    ids, rows = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None, 2])
    different, _ = tf.unique(ids)
    again, which = tf.unique(different)
    total = tf.unsorted_segment_sum(rows, which, tf.shape(again)[0])
    feeds = {ids: np.array([3, 1, 3], np.int32), rows: np.array([[-0.0, 1], [2, 3]], np.float32)}
    plan, got, wanted = both([total, again], feeds)
    assert "distinct_rows" not in rules(plan)
    for a, b in zip(got, wanted, strict=True):
        assert a.tobytes() == b.tobytes()


def test_what_is_no_sum_of_rows_keeps_their_numbers() -> None:
    """Other uses of the numbers that `tf.unique` gives, of as many inputs as there are."""
    for use in (lambda which: 1 + which, lambda which: tf.gather(tf.range(9) * 2, which)):
        ids = tf.placeholder(tf.int32, [None])
        again, which = tf.unique(tf.unique(ids)[0])
        value = np.array([3, 1, 3], np.int32)
        plan, got, wanted = both([use(which), again], {ids: value})
        assert "distinct_rows" not in rules(plan)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def nodes_inside(y: Any, op_type: str) -> list[Any]:
    return [op for op in y.graph.get_operations() if op.type == op_type]


@pytest.mark.parametrize("inner", ["SparseFillEmptyRows", "SparseSegmentMean", "GatherV2"])
def test_a_fetched_part_is_what_it_was(inner: str) -> None:
    sparse, values = lookup()
    table = tf.placeholder(tf.float32, [5, 2])
    y = tf.nn.safe_embedding_lookup_sparse([table], sparse)
    seen = nodes_inside(y, inner)[-1].outputs[0]
    feeds = {table: np.arange(10, dtype=np.float32).reshape(5, 2) + 1}
    feeds |= flat(sparse, values["empty rows and repeated ids"])
    plan, got, wanted = both([y, seen], feeds)
    assert "sparse_lookup" not in rules(plan)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_filled_indices_that_are_read_elsewhere_stay() -> None:
    sparse, values = lookup()
    table = tf.placeholder(tf.float32, [5, 2])
    y = tf.nn.safe_embedding_lookup_sparse([table], sparse)
    largest = tf.reduce_max(nodes_inside(y, "SparseFillEmptyRows")[-1].outputs[0])
    feeds = {table: np.arange(10, dtype=np.float32).reshape(5, 2) + 1}
    feeds |= flat(sparse, values["empty rows and repeated ids"])
    plan, got, wanted = both([y, largest], feeds)
    assert "sparse_lookup" not in rules(plan)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_lookups_stay_as_they_are() -> None:
    sparse, values = lookup()
    deep = tf.sparse_placeholder(tf.int64, [None, 2, 3])
    table = tf.placeholder(tf.float32, [5, 2])
    weights = tf.SparseTensor(sparse.indices, tf.ones(tf.shape(sparse.values)), sparse.dense_shape)
    for y, ids in (
        (tf.nn.safe_embedding_lookup_sparse([table], sparse, weights), sparse),
        (tf.nn.safe_embedding_lookup_sparse([table], sparse, default_id=1), sparse),
        (tf.nn.safe_embedding_lookup_sparse([table], deep), deep),
    ):
        feeds = {table: np.arange(10, dtype=np.float32).reshape(5, 2)}
        if ids is deep:
            feeds[deep.indices] = np.array([[0, 1, 0], [1, 0, 2]], np.int64)
            feeds[deep.values] = np.array([4, 2], np.int64)
            feeds[deep.dense_shape] = np.array([2, 2, 3], np.int64)
        else:
            feeds |= flat(sparse, values["empty rows and repeated ids"])
        plan, got, wanted = both([y], feeds)
        assert "sparse_lookup" not in rules(plan)
        np.testing.assert_array_equal(got[0], wanted[0])


@pytest.mark.parametrize("name", ["one each", "empty rows and repeated ids"])
def test_an_id_without_a_row_is_refused(name: str) -> None:
    sparse, values = lookup()
    table = tf.placeholder(tf.float32, [2, 2])
    y = tf.nn.safe_embedding_lookup_sparse([table], sparse)
    feeds = {table: np.ones((2, 2), np.float32), **flat(sparse, values[name])}
    with tf.Session() as session:
        for _ in range(4):  # before and after it is rewritten
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 2\)"):
                session.run(y, feeds)


def test_the_number_of_gathered_rows_needs_no_rows() -> None:
    ids = tf.placeholder(tf.int32, [None])
    table = tf.placeholder(tf.float32, [7, 2])
    feeds = {ids: np.array([1, 2, 3], np.int32), table: np.ones((7, 2), np.float32)}
    plan, got, wanted = both([tf.shape(tf.gather(table, ids))[0] * 2], feeds)
    assert types(plan) == ["Size", "Mul"] and got == wanted == [6]


def _outcome(run: Callable[[], list[Any]]) -> Any:
    try:
        return [value.tolist() for value in run()]
    except tf.errors.InvalidArgumentError:
        return "refused"


def _is_the_same_rewritten(y: Any, feeds: dict[Any, Any]) -> bool:
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(config=off) as plain, tf.Session() as session:
        wanted = _outcome(lambda: plain.run([y], feeds))
        plan = rewritten(session, [y], list(feeds))
        return bool(_outcome(lambda: plan.run(list(feeds.values()))) == wanted)


def _check_lookups_that_differ(change: Callable[[Any, dict[Any, Any]], Any]) -> None:
    """Changes each input of each node of a lookup in turn."""
    number = 0
    while True:
        with tf.Graph().as_default() as graph:
            sparse, values = lookup()
            table = tf.placeholder(tf.float32, [5, 2])
            y = tf.nn.safe_embedding_lookup_sparse([table], sparse) * 1.0
            places = [(op, i) for op in graph.get_operations() for i in range(len(op.inputs))]
            if number == len(places):
                break
            op, i = places[number]
            number += 1
            feeds = {table: np.arange(10, dtype=np.float32).reshape(5, 2)}
            feeds |= flat(sparse, values["empty rows and repeated ids"])
            changed = change(op.inputs[i], feeds)
            if changed is not None:
                op._update_input(i, changed)
                assert _is_the_same_rewritten(y, feeds), (op.name, i)


def test_lookups_in_a_table_of_unknown_rank() -> None:
    sparse, values = lookup()
    table = tf.placeholder(tf.float32)
    y = tf.nn.safe_embedding_lookup_sparse([table], sparse) * 1.0
    feeds = {table: np.arange(10, dtype=np.float32).reshape(5, 2)}
    feeds |= flat(sparse, values["empty rows and repeated ids"])
    assert _is_the_same_rewritten(y, feeds)


def test_lookups_whose_constants_are_others() -> None:
    def other(tensor: Any, feeds: Any) -> Any:
        if tensor.op.type != "Const" or not tensor.dtype.is_integer:
            return None
        return tf.constant(tensor.op.attrs["value"] + 1, tensor.dtype)

    _check_lookups_that_differ(other)


def test_lookups_with_a_node_in_between() -> None:
    def plus_nothing(tensor: Any, feeds: Any) -> Any:
        dtype = tensor.dtype.base_dtype
        if not (dtype.is_integer or dtype.is_floating):
            return None
        zero = tf.placeholder(dtype, [])
        feeds[zero] = dtype.as_numpy_dtype(0)
        return tensor + zero

    _check_lookups_that_differ(plus_nothing)


def columns_of_a_batch() -> tuple[Any, dict[Any, Any]]:
    """The logits of words, buckets and their cross, and feeds for two batches."""
    F = tf.feature_column
    words = F.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    buckets = F.bucketized_column(F.numeric_column("number"), [1.0, 2.0])
    crossed = F.crossed_column(["word", buckets], 10)
    word, number = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None])
    inputs = {"word": tf.expand_dims(word, 1), "number": tf.expand_dims(number, 1)}
    logits = F.linear_model(inputs, [words, buckets, crossed])
    feeds = {word: np.array([b"c", b"a", b"?", b"c"], object), number: np.float32([0, 5, 1.5, 1])}
    return logits, feeds


def test_feature_columns_have_the_shape_of_the_batch(either: None) -> None:
    """So nothing is summed back, and nothing reshaped, for a bias that each of a batch has."""
    logits, feeds = columns_of_a_batch()
    others = tf.placeholder(tf.float32, [None, 1])
    loss = tf.reduce_sum(tf.square(logits + others))
    train = tf.train.FtrlOptimizer(0.5).minimize(loss)
    feeds[others] = np.float32([[1], [2], [3], [4]])
    seen = {}
    for off in (True, False):
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = off
        with tf.Session(config=config) as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            for _ in range(3):
                session.run(train, feeds)
            seen[off] = session.run([loss, *tf.trainable_variables()], feeds)
            plan = rewritten(session, [train, loss], list(feeds))
            plan.rewrite(arguments=plan.convert_feeds(feeds.values()))  # all are of one size
    for got, wanted in zip(seen[False], seen[True], strict=True):
        assert got.tobytes() == wanted.tobytes()
    nodes = types(plan)
    assert nodes.count("_SafeEmbeddingLookup") == 3
    assert not {"BroadcastGradientArgs", "Unique"} & set(nodes)
    assert nodes.count("Reshape") == 1  # the buckets' numbers as a vector


@pytest.mark.parametrize("indices", [[[0, 0], [1, 0], [2, 0]], [[0, 0], [0, 1], [2, 0]]])
def test_the_different_ids_are_told_once(either: None, indices: Any) -> None:
    """By the lookup, in the order in which they first appear; rows may be of any width."""
    for columns in (1, 5):
        params = np.random.default_rng(0).normal(size=(9, columns)).astype(np.float64)
        rows, empty, filled, segments, different, which = sparse_lookup_kernel(
            *(np, params, np.array(indices), np.array([7, 2, 7]), np.array([3, 4]), np.int64(0)),
            combiner="sum",
            tells_different=True,
        )
        assert different.tolist() == list(dict.fromkeys(filled.tolist()))
        assert different[which].tolist() == filled.tolist() and which.dtype == np.int32
        summed = np.zeros((3, columns))
        np.add.at(summed, segments, params[filled])
        np.testing.assert_array_equal(rows, np.where(empty[:, None], 0, summed))


@pytest.mark.parametrize("ids", [[7, -1, 7], [7, 9, 7]])
def test_an_id_without_a_row_is_no_row(either: None, ids: list[int]) -> None:
    indices, params = np.array([[0, 0], [1, 0], [2, 0]]), np.ones((9, 2), np.float32)
    given = np, params, indices, np.array(ids), np.array([3, 4]), np.int64(0)
    if max(ids) > 8:
        with pytest.raises(ValueError, match="not in"):
            sparse_lookup_kernel(*given, combiner="sum", tells_different=True)
        return
    rows, empty, *_ = sparse_lookup_kernel(*given, combiner="sum", tells_different=True)
    assert empty.tolist() == [False, True, False] and rows[:, 0].tolist() == [1, 0, 1]


def test_tables_and_weights_have_one_dtype() -> None:
    ids = tf.SparseTensor([[0, 0]], [1], [1, 1])
    weights = tf.SparseTensor([[0, 0]], [1.0], [1, 1])
    tables = [np.zeros([2, 3], np.float32), np.zeros([2, 3], np.float64)]
    with pytest.raises(ValueError, match="the same dtype; got float32, float64"):
        tf.nn.safe_embedding_lookup_sparse(tables, ids)
    with pytest.raises(ValueError, match="the same dtype; got float64, float32"):
        tf.nn.safe_embedding_lookup_sparse(tables[1:], ids, weights)


@pytest.mark.parametrize("of_a_vector", [True, False])
def test_zeros_of_rows_are_put_by_a_vector_of_truths_alone(of_a_vector: bool) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    empty = tf.placeholder(tf.bool, [None] if of_a_vector else [None, 2])
    condition = tf.tile(tf.reshape(empty, [-1, 1]), tf.stack([1, tf.shape(x)[1]]))
    y = tf.exp(tf.where(condition, tf.zeros_like(x), x))
    ids = tf.placeholder(tf.int32, [None])
    truths = np.eye(3, 2, dtype=bool)
    feeds = {x: np.ones([6, 4], np.float32), ids: np.int32([1, 1])}
    feeds[empty] = truths.reshape(-1) if of_a_vector else truths
    plan, got, wanted = both([y, tf.unique(ids)[0]], feeds)
    assert ("zero_rows" in rules(plan)) == of_a_vector
    np.testing.assert_array_equal(got[0], wanted[0])


def test_rows_of_other_numbers_than_zeros_are_put_as_the_graph_says() -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    empty = tf.placeholder(tf.bool, [None])
    condition = tf.tile(tf.reshape(empty, [-1, 1]), tf.stack([1, tf.shape(x)[1]]))
    y = tf.exp(tf.where(condition, tf.ones_like(x), x))
    ids = tf.placeholder(tf.int32, [None])
    feeds = {x: np.zeros([6, 4], np.float32), ids: np.int32([1, 1])}
    feeds[empty] = np.eye(3, 2, dtype=bool).reshape(-1)
    plan, got, wanted = both([y, tf.unique(ids)[0]], feeds)
    assert "zero_rows" not in rules(plan)
    np.testing.assert_array_equal(got[0], wanted[0])
    assert got[0][0, 0] > 2.7
