"""Lookup tables: filling, files, hash buckets, sessions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.ops import lookup_tables, table_initializers, vocabulary_tables


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    path = tmp_path / "vocabulary.txt"
    path.write_text("apple\nbanana\r\ncherry\n")
    return str(path)


def test_a_table_must_be_filled_first_and_each_session_has_its_own() -> None:
    with tf.Graph().as_default():
        table = vocabulary_tables.index_table_from_tensor(["a", "b"])
        ids = table.lookup(tf.constant(["b", "z"]))
        init = tf.tables_initializer()
        with tf.Session() as first, tf.Session() as second:
            with pytest.raises(tf.errors.FailedPreconditionError, match="tables_initializer"):
                first.run(ids)
            first.run(init)
            first.run(init)
            assert first.run(ids).tolist() == [1, -1]
            with pytest.raises(tf.errors.FailedPreconditionError):
                second.run(ids)


def test_words_out_of_vocabulary_share_buckets() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = vocabulary_tables.index_table_from_tensor(["x", "y"], num_oov_buckets=5)
        ids = table.lookup(tf.constant(["x", "q", "r"]))
        session.run(tf.tables_initializer())
        assert session.run(ids).tolist() == [0, 5, 5]  # as TensorFlow 2.15.1's
        assert session.run(table.size()) == 7


def test_tables_from_files(vocabulary: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        forward = vocabulary_tables.index_table_from_file(vocabulary)
        backward = vocabulary_tables.index_to_string_table_from_file(vocabulary)
        cut = vocabulary_tables.index_table_from_file(vocabulary, vocab_size=2)
        words = tf.SparseTensor([[0]], ["cherry"], [1])
        session.run(tf.tables_initializer())
        assert session.run(forward.lookup(words)).values.tolist() == [2]
        places = backward.lookup(tf.constant([1, 7], tf.int64))
        assert session.run(places).tolist() == [b"banana", b"UNK"]
        assert session.run(cut.lookup(words)).values.tolist() == [-1]


def test_files_that_do_not_fit(vocabulary: str, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        missing = vocabulary_tables.index_table_from_file(str(tmp_path / "none.txt"))
        with pytest.raises(tf.errors.NotFoundError, match=r"none\.txt"):
            session.run(missing.init)
        short = vocabulary_tables.index_table_from_file(vocabulary, vocab_size=9)
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected 9 but got 3"):
            session.run(short.init)


def test_a_mutable_table_changes_as_the_graph_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = lookup_tables.MutableHashTable(tf.string, tf.int64, -1)
        key, value = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int64, [None])
        insert, remove = table.insert(key, value), table.remove(key)
        found = table.lookup(key)
        session.run(insert, {key: ["k", "l"], value: [5, 6]})
        session.run(insert, {key: ["k"], value: [7]})
        assert session.run(found, {key: ["k", "l", "m"]}).tolist() == [7, 6, -1]
        session.run(remove, {key: ["k"]})
        assert session.run(table.size()) == 1
        keys, values = session.run(table.export())
        assert (keys.tolist(), values.tolist()) == ([b"l"], [6])


def test_mistakes_are_found_when_the_table_is_made() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = vocabulary_tables.index_table_from_tensor(["a"])
        with pytest.raises(TypeError, match="must be string"):
            table.lookup(tf.constant([1]))
        with pytest.raises(ValueError, match="vocabulary_list"):
            vocabulary_tables.index_table_from_tensor(None)
        with pytest.raises(ValueError, match="oov_buckets"):
            vocabulary_tables.StaticVocabularyTable(None, 0)
        doubled = lookup_tables.HashTable(
            table_initializers.KeyValueTensorInitializer(["a", "a"], np.array([1, 2])), -1
        )
        with pytest.raises(tf.errors.FailedPreconditionError, match="different value for same key"):
            session.run(doubled.init)


def test_dense_tables_refuse_their_reserved_keys() -> None:
    dense = tf.lookup.experimental.DenseHashTable
    with tf.Graph().as_default(), tf.Session() as session:
        table = dense(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1, initial_num_buckets=4)
        session.run(table.insert([1, 2], [10, 20]))
        session.run(table.erase([2]))
        session.run(table.insert_or_assign([1], [10]))
        assert session.run(table.lookup(tf.constant([1, 2], tf.int64))).tolist() == [10, -1]
        for op in (table.lookup([[1, 0]]), table.insert([-1], [5]), table.remove([0])):
            with pytest.raises(tf.errors.InvalidArgumentError, match="as a table key is not allow"):
                session.run(op)
        with pytest.raises(ValueError, match="cannot be equal"):
            dense(tf.int64, tf.int64, -1, 3, 3)
        with pytest.raises(ValueError, match="same shape"):
            dense(tf.int64, tf.int64, -1, 3, [4])
        with pytest.raises(ValueError, match="keys are scalars here"):
            dense(tf.int64, tf.int64, -1, [3], [4])
        with pytest.raises(ValueError, match="power of two, got 3"):
            dense(tf.int64, tf.int64, -1, 3, 4, initial_num_buckets=3)


def test_initializers_without_tables_do_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.tables_initializer()) is None


@pytest.mark.parametrize(
    "keys", [[7], range(-3, 40), [0, 3, 4, 9], [2**31 - 1, 2**31 - 5], [0, 10**6]]
)
@pytest.mark.parametrize("values", ["words", "numbers"])
def test_many_whole_numbers_are_found_one_by_one_or_in_a_row(keys, values: str) -> None:
    keys = np.array(list(keys), np.int32)
    entries = {int(k): f"word {k}".encode() if values == "words" else int(k) * 3 for k in keys}
    dtype, missing = (tf.string, b"?") if values == "words" else (tf.int64, -1)
    rng = np.random.default_rng(0)
    around = np.array([*keys.tolist(), -4, 0, 1, 8, -(2**31), 2**31 - 1], np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.MutableHashTable(tf.int32, dtype, missing)
        asked = tf.placeholder(tf.int32)
        found = table.lookup(asked)
        session.run(table.insert(keys, tf.constant(list(entries.values()), dtype)))
        for shape in ((5,), (20, 7)):
            given = rng.choice(around, shape)
            expected = [entries.get(k, missing) for k in given.reshape(-1).tolist()]
            assert session.run(found, {asked: given}).reshape(-1).tolist() == expected
        given = np.full(50, keys[0])
        new = b"new" if values == "words" else 99
        session.run(table.insert(keys[:1], tf.constant([new], dtype)))
        assert set(session.run(found, {asked: given}).tolist()) == {new}


def test_a_table_of_no_words_is_refused_when_it_is_filled() -> None:
    table = tf.contrib.lookup.index_table_from_tensor(np.array([], np.str_), num_oov_buckets=1)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be empty"):
            session.run(table.initializer)


def test_hashers_are_checked() -> None:
    lookup = tf.contrib.lookup
    with pytest.raises(TypeError, match="HasherSpec, got 1"):
        lookup.index_table_from_tensor(["a"], num_oov_buckets=1, hasher_spec=1)
    odd = lookup.index_table_from_tensor(["a"], 1, hasher_spec=lookup.HasherSpec("odd", None))
    with pytest.raises(ValueError, match="Unknown hasher odd"):
        odd.lookup(tf.constant(["a"]))
    assert lookup.StrongHashSpec([1, 2]) == ("stronghash", [1, 2])


def test_exported_values_have_the_shape_of_the_default() -> None:
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, [-1, -1])
    keys, values = table.export()
    assert keys.shape.as_list() == [None] and values.shape.as_list() == [None, 2]


def test_only_files_that_are_constants_are_assets(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("a\nb\n")
    with tf.Graph().as_default():
        name = tf.placeholder(tf.string, [])
        table = tf.contrib.lookup.index_table_from_file(name, num_oov_buckets=1)
        assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) == []
        with tf.Session() as sess:
            sess.run(tf.tables_initializer(), {name: str(tmp_path / "words")})
            assert sess.run(table.lookup(tf.constant(["b", "c"]))).tolist() == [1, 2]
        tf.contrib.lookup.index_table_from_file(str(tmp_path / "words"))
        assert len(tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)) == 1


def test_tables_of_lists_of_tensors() -> None:
    """A replay buffer's episodes: a list of steps under each key."""
    from dataflow.python.ops import list_ops

    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.lookup.experimental.DenseHashTable(
            tf.int64,
            tf.variant,
            default_value=list_ops.empty_tensor_list([1], tf.float32),
            empty_key=-1,
            deleted_key=-2,
        )
        key, keys = tf.placeholder(tf.int64, []), tf.constant([5, 7], tf.int64)
        steps = list_ops.tensor_list_from_tensor([[1.0], [2.0]], [1])
        longer = list_ops.tensor_list_concat_lists(table.lookup(key), steps, tf.float32)
        append = table.insert(key, longer)
        step = list_ops.tensor_list_push_back_batch(table.lookup(keys), [[8.0], [9.0]])
        append_to_both = table.insert(keys, step)
        episode = list_ops.tensor_list_stack(table.lookup(key), tf.float32)
        for run in (append, append, append_to_both):
            session.run(run, {key: 5})
        assert session.run(episode, {key: 5}).ravel().tolist() == [1.0, 2.0, 1.0, 2.0, 8.0]
        assert session.run(episode, {key: 7}).tolist() == [[9.0]]
        assert session.run(episode, {key: 8}).shape == (0, 1)
        assert session.run(table.size()) == 2
