"""Ragged tensors: TensorFlow 2.15's values as recorded, feeds, gradients, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "oracle" / "programs" / "ragged.py"
RECORDED = json.loads((HERE / "ragged_values.json").read_text())


def error_of(function: Any) -> str:
    try:
        function()
    except Exception as error:
        return type(error).__mro__[0].__name__ + ": " + str(error)
    return "nothing"


@pytest.fixture(scope="module")
def result() -> Any:
    """What the oracle's program reports of this engine."""
    found: dict[str, Any] = {}
    with tf.Graph().as_default():
        names = {"tf": tf, "np": np, "result": found, "error_of": error_of}
        exec(compile(PROGRAM.read_text(), str(PROGRAM), "exec"), names)
    return found


@pytest.mark.parametrize("part", sorted(RECORDED))
def test_values_are_tensorflows(result: Any, part: str) -> None:
    assert json.loads(json.dumps(result[part])) == RECORDED[part]


def test_gradients_reach_what_rows_were_looked_up(result: Any) -> None:
    total, gradient = result["gradient"]
    assert total == 156.0
    wanted = np.zeros((10, 2))
    wanted[[1, 2, 3, 4, 5, 9]] = [1, 2]
    np.testing.assert_array_equal(gradient, wanted)


def test_what_is_refused_says_why(result: Any) -> None:
    assert "Inputs must have identical ragged splits" in result["other rows"]
    assert result["inner index"] == "ValueError: Cannot index into an inner ragged dimension."
    assert "same nesting depth" in result["too deep"]
    assert "use sess.run(rt).to_list()" in result["to_list"]
    with tf.Graph().as_default(), tf.Session() as sess:
        rt = tf.ragged.constant([[1.0], [2.0, 3.0]])
        with pytest.raises(TypeError, match=r"to_tensor\(\), or apply .*map_flat_values"):
            tf.matmul(rt, rt)
        with pytest.raises(ValueError, match="Unable to broadcast the dimension 1"):
            _ = rt + tf.ones([2, 2])
        with pytest.raises(ValueError, match="to a ragged one"):
            _ = rt + tf.ragged.constant([[[1.0]], []])
        fed = tf.ragged.placeholder(tf.float32, 1, [])
        with pytest.raises(
            TypeError, match=r"fed with a tf\.ragged\.RaggedTensorValue of ragged rank 1, got"
        ):
            sess.run(fed, {fed: [[1.0]]})
        with pytest.raises(ValueError, match="not support keepdims"):
            tf.reduce_sum(rt, 1, keepdims=True)
        with pytest.raises(ValueError, match="not both"):
            tf.RaggedTensor.from_tensor([[1]], lengths=[1], padding=0)
        with pytest.raises(TypeError, match="truth value"):
            bool(rt)


def test_values_travel_both_ways() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        rt = tf.ragged.constant([[[1], []], [[2, 3]]])
        value = rt.eval()
        assert isinstance(value, tf.ragged.RaggedTensorValue) and value.ragged_rank == 2
        assert sess.run([rt, {"sum": tf.reduce_sum(rt)}])[1] == {"sum": 6}
        assert sess.run(tf.concat([value, rt], 0)).to_list() == [[[1], []], [[2, 3]]] * 2
        other = {rt: tf.ragged.constant_value([[[7, 8], []], [[9]]], np.int32)}
        assert sess.run(rt * 2, other).to_list() == [[[14, 16], []], [[18]]]
        empty = sess.run(tf.ragged.constant([[], []], tf.int32).to_tensor())
        assert empty.shape == (2, 0)


def test_a_model_of_words_learns_from_ragged_rows() -> None:
    """Bags of words of different lengths: embeddings, their mean, a linear layer."""
    with tf.Graph().as_default(), tf.Session() as sess:
        words = tf.ragged.placeholder(tf.int64, 1, [])
        label = tf.placeholder(tf.float32, [None])
        table = tf.get_variable("table", [6, 4], initializer=tf.random_normal_initializer(seed=1))
        mean = tf.reduce_mean(tf.nn.embedding_lookup(table, words), axis=1)
        mean.set_shape([None, 4])
        loss = tf.reduce_mean(
            tf.nn.sigmoid_cross_entropy_with_logits(
                labels=label, logits=tf.layers.dense(mean, 1)[:, 0]
            )
        )
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        sess.run(tf.global_variables_initializer())
        feeds = {
            words: tf.ragged.constant_value([[0, 1], [3, 4, 5], [1], [5, 3]]),
            label: [1, 0, 1, 0],
        }
        for _ in range(60):
            sess.run(step, feeds)
        assert sess.run(loss, feeds) < 0.1


def test_map_fn_goes_over_ragged_rows_and_makes_some() -> None:
    from dataflow.ops.ragged_map import RaggedTensorType

    with tf.Graph().as_default(), tf.Session() as sess:
        rows = tf.ragged.constant([[1, 2, 3], [], [4, 5]])
        assert sess.run(tf.map_fn(tf.reduce_sum, rows, tf.int32)).tolist() == [6, 0, 9]
        assert sess.run(tf.map_fn(lambda r: r * 2, rows)).to_list() == [[2, 4, 6], [], [8, 10]]
        made = tf.map_fn(tf.range, tf.constant([2, 0, 1]), RaggedTensorType(tf.int32, 1))
        assert sess.run(made).to_list() == [[0, 1], [], [0]]
        deep = tf.ragged.constant([[[1, 2], []], [[3]]])
        assert sess.run(tf.map_fn(lambda r: r + 1, deep)).to_list() == [[[2, 3], []], [[4]]]
        pair = tf.map_fn(lambda p: p[0][p[1]], (rows, tf.constant([2, 0, 0])), tf.int32)
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(pair)  # the empty row has no first element
        with pytest.raises(ValueError, match="Expected `fn` to return"):
            tf.map_fn(lambda r: r, rows, RaggedTensorType(tf.int32, 2))
        with pytest.raises(ValueError, match="Expected `fn` to return"):
            tf.map_fn(lambda r: r, deep, tf.int32)


def test_bad_ranges_and_defaults_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        for arguments in (([[0]], 5), (0, [[5]]), (0, 5, [[0]]), ([0], [1, 2])):
            with pytest.raises(ValueError):
                tf.ragged.range(*arguments)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Requires delta != 0"):
            sess.run(tf.ragged.range(0, 0, 0))
        with pytest.raises(ValueError, match="at most 0"):
            tf.ragged.constant([[1, 2]]).to_tensor([0])
        pairs = tf.ragged.constant([[[1, 2]], []], ragged_rank=1)
        with pytest.raises(ValueError, match="incompatible"):
            pairs.to_tensor([1, 2, 3])
        assert sess.run(pairs.to_tensor([7])).tolist() == [[[1, 2]], [[7, 7]]]


def test_functions_of_text_keep_the_rows() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        words = tf.ragged.constant([["So", "long"], [], ["thanks"]])
        for made, want in (
            (tf.strings.substr(words, 0, 2), [[b"So", b"lo"], [], [b"th"]]),
            (tf.strings.length(words), [[2, 4], [], [6]]),
            (tf.strings.regex_replace(words, "o", "0"), [[b"S0", b"l0ng"], [], [b"thanks"]]),
            (tf.strings.regex_full_match(words, "S.*"), [[True, False], [], [False]]),
            (tf.strings.to_hash_bucket_fast(words, 10), [[1, 8], [], [7]]),
            (
                tf.strings.join([words, words], "-"),
                [[b"So-So", b"long-long"], [], [b"thanks-thanks"]],
            ),
            (tf.strings.strip(words), [[b"So", b"long"], [], [b"thanks"]]),
            (tf.as_string(tf.ragged.constant([[1, 2], [3]])), [[b"1", b"2"], [b"3"]]),
        ):
            assert sess.run(made).to_list() == want
        for axis, joined in ((1, [b"So+long", b"", b"thanks"]), (0, [b"So+thanks", b"long"])):
            made = tf.strings.reduce_join(words, axis=axis, separator="+")
            assert sess.run(made).tolist() == joined
        assert sess.run(tf.strings.reduce_join(words)) == b"Solongthanks"


def test_sums_and_checks_of_numbers_keep_the_rows() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        rows = tf.ragged.constant([[1.0, 4.0], [9.0]])
        assert sess.run(tf.add_n([rows, rows, rows])).to_list() == [[3.0, 12.0], [27.0]]
        assert sess.run(tf.check_numerics(rows, "bad")).to_list() == [[1.0, 4.0], [9.0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            sess.run(tf.check_numerics(rows / 0.0, "bad").flat_values)


@pytest.mark.parametrize(
    ("times", "want"),
    [
        ([1, 2], [[1, 2, 1, 2], [], [3, 3]]),
        ([2, 1], [[1, 2], [], [3], [1, 2], [], [3]]),
        ([0, 1], []),
        ([1, 0], [[], [], []]),
    ],
)
def test_tile_repeats_rows_and_what_they_hold(times: list[int], want: list[Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        rows = tf.ragged.constant([[1, 2], [], [3]])
        assert sess.run(tf.tile(rows, times)).to_list() == want
        with pytest.raises(ValueError, match="one number for each axis"):
            tf.tile(rows, [2])
        with pytest.raises(ValueError, match="known now"):
            tf.tile(rows, tf.placeholder(tf.int32, [2]))
        deep = tf.ragged.constant([[[1, 2], [3]], [], [[4]]])
        assert sess.run(tf.tile(deep, [1, 2, 1])).to_list() == [
            [[1, 2], [3], [1, 2], [3]],
            [],
            [[4], [4]],
        ]


def test_an_eager_one_prints_its_rows() -> None:
    with tf.Graph().as_default():
        assert "row_splits=" in repr(tf.ragged.constant([[1, 2], [3]]))
    program = "import dataflow as tf; tf.enable_eager_execution(); print(tf.ragged.constant([[1, 2], [3]]))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "<tf.RaggedTensor [[1, 2], [3]]>\n"


def test_nested_value_rowids_come_outermost_first(graph):
    values, rowids = [3, 1, 4, 1, 5, 9, 2, 6], [[0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 2, 5, 5]]
    make = tf.RaggedTensor.from_nested_value_rowids
    with tf.Session() as sess:
        result = sess.run(make(tf.constant(values), rowids, [2, 7]))
    assert result.to_list() == [[[3, 1], [4, 1, 5], [9], []], [[], [2, 6], []]]
    with pytest.raises(ValueError, match="nested_nrows must have the same length .* got 2 and 1"):
        make(tf.constant([3, 1]), [[0, 1]], [1, 2])
    with pytest.raises(TypeError, match="list of vectors"):
        make(tf.constant([3, 1]), tf.constant([[0, 1]]))


def test_the_lengths_of_rows_may_be_a_list_of_tensors() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        ragged = tf.RaggedTensor.from_row_lengths(tf.range(n + 1), [n, 1])
        assert session.run(ragged, {n: 2}).to_list() == [[0, 1], [2]]


def test_composites_know_their_spec() -> None:
    with tf.Graph().as_default():
        ragged = tf.ragged.constant([[1, 2], [], [3]])
        assert ragged._type_spec == tf.RaggedTensorSpec([3, None], tf.int32)
        sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
        assert sparse._type_spec == tf.SparseTensorSpec([2, 3], tf.float32)
        rows = tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([1]))
        assert rows._type_spec.value_type is tf.IndexedSlices
