"""Datasets and iterators beyond their samples."""

from __future__ import annotations

import threading
import time
import types

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.dataset import functions

pytestmark = pytest.mark.usefixtures("graph")


def values(dataset, session=None):
    """All elements."""
    element = dataset.make_one_shot_iterator().get_next()
    result = []
    with tf.Session() as s:
        while True:
            try:
                result.append(s.run(element))
            except tf.errors.OutOfRangeError:
                return result


def test_the_slides_dataset() -> None:
    my_data = [[0, 1], [2, 3], [4, 5], [6, 7]]
    slices = tf.data.Dataset.from_tensor_slices(my_data)
    next_item = slices.make_one_shot_iterator().get_next()
    with tf.Session() as s:
        rows = [s.run(next_item).tolist() for _ in range(4)]
        assert rows == my_data
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            s.run(next_item)


def test_nestings_keep_their_form() -> None:
    d = tf.data.Dataset.from_tensor_slices(({"b": [1, 2], "a": [1.5, 2.5]}, ["x", "y"]))
    (features, label), _ = values(d)
    assert features["b"] == 1
    assert features["a"] == 1.5
    assert label == b"x"
    assert d.output_types == ({"b": tf.int32, "a": tf.float32}, tf.string)


def test_pandas_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    assert values(tf.data.Dataset.from_tensor_slices(dict(frame)))[1] == {"a": 2, "b": 1.5}


def test_a_tuple_is_several_arguments() -> None:
    d = tf.data.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda x, y: x + y)
    assert values(d) == [11, 22]


def test_functions_are_graphs() -> None:
    d = tf.data.Dataset.range(3).map(lambda x: x * 2)
    d.make_one_shot_iterator()
    (op,) = [o for o in tf.get_default_graph().get_operations() if o.type == "OneShotIterator"]
    factory = op.attrs["dataset_factory"]
    (node,) = [o for o in factory.get_operations() if o.type == "MapDataset"]
    assert [o.type for o in node.attrs["f"].get_operations()] == ["Placeholder", "Const", "Mul"]


def test_functions_see_outer_tensors() -> None:
    offset = tf.placeholder(tf.int64, [])
    d = tf.data.Dataset.range(3).map(lambda x: x + offset)
    it = d.make_initializable_iterator()
    n = it.get_next()
    with tf.Session() as s:
        s.run(it.initializer, {offset: 100})
        assert [s.run(n) for _ in range(3)] == [100, 101, 102]


def test_one_shot_iterators_refuse_what_starts_later() -> None:
    offset = tf.placeholder(tf.int64, [])
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        tf.data.Dataset.range(3).map(lambda x: x + offset).make_one_shot_iterator()
    v = tf.Variable(1, dtype=tf.int64)
    with pytest.raises(ValueError, match="stateful"):
        tf.data.Dataset.range(3).map(lambda x: x + v).make_one_shot_iterator()


def test_an_iterator_must_be_initialized() -> None:
    it = tf.data.Dataset.range(3).make_initializable_iterator()
    n = it.get_next()
    with tf.Session() as s:
        with pytest.raises(tf.errors.FailedPreconditionError, match="initializer"):
            s.run(n)
        for _ in range(2):
            s.run(it.initializer)
            assert [s.run(n), s.run(n)] == [0, 1]


def test_reinitializable_iterators() -> None:
    it = tf.data.Iterator.from_structure(tf.int64, [])
    n = it.get_next()
    train = it.make_initializer(tf.data.Dataset.range(2))
    test = it.make_initializer(tf.data.Dataset.range(10, 12))
    with tf.Session() as s:
        s.run(train)
        assert s.run(n) == 0
        s.run(test)
        assert s.run(n) == 10
    with pytest.raises(TypeError, match="output types"):
        it.make_initializer(tf.data.Dataset.from_tensors(1.0))
    with pytest.raises(ValueError, match="make_initializer"):
        it.initializer


def test_shuffling_is_a_permutation_and_repeats_with_its_seed() -> None:
    d = tf.data.Dataset.range(100).shuffle(10, seed=5)
    first = values(d)
    assert sorted(first) == list(range(100))
    assert first != list(range(100))
    with tf.Graph().as_default():
        assert values(tf.data.Dataset.range(100).shuffle(10, seed=5)) == first
    # An element can come at most so early as the buffer allows.
    assert all(value - position < 10 for position, value in enumerate(first))


def test_each_round_is_shuffled_anew_unless_told_otherwise() -> None:
    twice = values(tf.data.Dataset.range(20).shuffle(20, seed=1).repeat(2))
    assert twice[:20] != twice[20:]
    assert sorted(twice[20:]) == list(range(20))
    same = values(
        tf.data.Dataset.range(20).shuffle(20, seed=1, reshuffle_each_iteration=False).repeat(2)
    )
    assert same[:20] == same[20:]


def test_rows_and_elements_go_the_same_way() -> None:
    data = np.arange(30).reshape(15, 2)
    rows = tf.data.Dataset.from_tensor_slices(data)
    elements = rows.map(lambda x: x)

    def chain(d):
        d = d.shuffle(4, seed=3).skip(2).take(11).shard(2, 1).repeat(2).batch(3)
        return [v.tolist() for v in values(d)]

    assert chain(rows) == chain(elements)


def test_batches() -> None:
    d = tf.data.Dataset.from_tensor_slices(np.arange(7))
    assert [v.tolist() for v in values(d.batch(3))] == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(values(d.batch(3, drop_remainder=True))) == 2
    assert d.batch(3, drop_remainder=True).output_shapes.as_list() == [3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes.*padded_batch"):
        values(tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x)).batch(3))


def test_batches_are_the_callers() -> None:
    data = np.zeros((4, 2))
    d = tf.data.Dataset.from_tensor_slices(data).batch(2).repeat(2)
    n = d.make_one_shot_iterator().get_next()
    with tf.Session() as s:
        first = s.run(n)
        first += 1
        assert s.run(n).sum() == 0
        assert s.run(n).sum() == 0


def test_padding_needs_room() -> None:
    d = tf.data.Dataset.range(3, 5).map(lambda x: tf.fill([x], x)).padded_batch(2, [3])
    with pytest.raises(tf.errors.DataLossError, match="size 4.*says 3"):
        values(d)


def test_parallel_maps_keep_the_order() -> None:
    d = tf.data.Dataset.range(50).map(lambda x: x * x, num_parallel_calls=4)
    assert values(d) == [i * i for i in range(50)]


@pytest.mark.threads
def test_parallel_maps_keep_the_order_when_calls_become_quick_and_slow_again() -> None:
    together, most = 0, 0

    def square(x):
        nonlocal together, most
        together += 1
        most = max(most, together)
        if x % 30 < 10:
            time.sleep(0.002)
        together -= 1
        return x * x

    d = tf.data.Dataset.range(60).map(
        lambda x: tf.py_func(square, [x], tf.int64), num_parallel_calls=3
    )
    assert values(d) == [i * i for i in range(60)]
    assert most > 1  # the slow ones ran side by side


@pytest.mark.parametrize("size", [-1, None, 0, 3])
def test_prefetch_takes_no_number_below_minus_one(size: int | None) -> None:
    assert values(tf.data.Dataset.range(5).prefetch(size)) == [0, 1, 2, 3, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"prefetch: buffer_size .* got -2"):
        tf.data.Dataset.range(5).prefetch(-2)


@pytest.mark.threads
def test_a_quick_function_stays_in_one_thread_when_single_calls_were_held_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(functions, "time", types.SimpleNamespace(perf_counter=lambda: now))
    threads = []

    def square(i: int) -> tuple[int]:
        nonlocal now
        now += 5e-3 if i % 3 == 2 else 1e-5
        threads.append(threading.current_thread())
        return (i * i,)

    elements = iter([(i,) for i in range(30)])
    mapped = functions._ParallelMap(square, elements, threads=2)
    assert list(mapped) == [(i * i,) for i in range(30)]
    assert set(threads[3:]) == {threading.current_thread()}


def test_prefetch_passes_errors_on_and_ends_its_thread() -> None:
    def bad():
        yield 1
        raise ValueError("broken row 2")

    others = set(threading.enumerate())
    d = tf.data.Dataset.from_generator(bad, tf.int32, []).prefetch(4)
    n = d.make_one_shot_iterator().get_next()
    with tf.Session() as s:
        assert s.run(n) == 1
        with pytest.raises(tf.errors.OpError, match="broken row 2"):
            s.run(n)
    for thread in set(threading.enumerate()) - others:
        if thread.name == "prefetch":
            thread.join(60)
            assert not thread.is_alive()


def test_a_generator_is_given_scalars_as_tensorflow_gives_them() -> None:
    given = []

    def generate(*args):
        given.extend(args)
        yield len(args)

    names = tf.data.Dataset.from_tensor_slices(["a.h5", "b.h5"])
    per_name = names.flat_map(
        lambda name: tf.data.Dataset.from_generator(generate, tf.int32, [], args=[name, 2, [1.5]])
    )
    assert values(per_name) == [3, 3]
    assert given[0] == b"a.h5" and type(given[0]) is bytes and given[3] == b"b.h5"
    assert type(given[1]) is np.int32 and given[2].tolist() == [1.5]


def test_generators_are_checked() -> None:
    wrong = tf.data.Dataset.from_generator(lambda: iter([[1, 2]]), tf.int32, [3])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(2,\).*\(3,\)"):
        values(wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        values(tf.data.Dataset.from_generator(lambda: iter(["x"]), tf.int32, []))
    with pytest.raises(TypeError, match="callable"):
        tf.data.Dataset.from_generator(iter([1]), tf.int32)


def test_rows_must_be_equally_many() -> None:
    with pytest.raises(ValueError, match=r"2 rows.*3 rows"):
        tf.data.Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))


def test_errors_in_functions_name_the_functions_node() -> None:
    d = tf.data.Dataset.range(2).map(lambda x: tf.gather([1, 2], x + 5, name="lookup"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="lookup"):
        values(d)


def test_missing_files() -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"no\.txt"):
        values(tf.data.TextLineDataset("no.txt"))


def test_csv(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2.5\n3,4.5\n")
    d = tf.data.experimental.CsvDataset(str(path), [tf.int32, [0.0]], header=True)
    assert values(d) == [(1, 2.5), (3, 4.5)]


def test_caching_in_a_file(tmp_path) -> None:
    calls = []

    def source():
        calls.append(1)
        yield from (1, 2)

    d = tf.data.Dataset.from_generator(source, tf.int64, []).cache(str(tmp_path / "kept"))
    assert values(d.repeat(2)) == [1, 2, 1, 2]
    assert len(calls) == 1
    with tf.Graph().as_default():
        again = tf.data.Dataset.from_generator(source, tf.int64, []).cache(str(tmp_path / "kept"))
        assert values(again) == [1, 2]
        assert len(calls) == 1


def test_text_cached_in_a_file_keeps_its_bytes(tmp_path) -> None:
    texts = [b"a\x00", b"", b"\x00\x00", "\u00e9".encode()]
    for _ in range(2):  # written, then read
        with tf.Graph().as_default():
            d = tf.data.Dataset.from_tensor_slices((texts, [1, 2, 3, 4])).batch(3)
            (first, _), (second, numbers) = values(d.cache(str(tmp_path / "kept")))
            assert [*first.tolist(), *second.tolist()] == texts
            assert numbers.tolist() == [4]
            one = tf.data.Dataset.from_tensors(b"z\x00").cache(str(tmp_path / "one"))
            assert values(one) == [b"z\x00"]


def test_iterating_is_explained() -> None:
    with pytest.raises(TypeError, match="make_one_shot_iterator"):
        iter(tf.data.Dataset.range(3))


def test_variables_in_functions() -> None:
    v = tf.Variable(5, dtype=tf.int64)
    it = tf.data.Dataset.range(2).map(lambda x: x + v).make_initializable_iterator()
    n = it.get_next()
    with tf.Session() as s:
        s.run(v.initializer)
        s.run(it.initializer)
        assert [s.run(n), s.run(n)] == [5, 6]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: (x, x), [(1, 1), (2, 2)]),
        (lambda x: {"a": x, "b": x}, [{"a": 1, "b": 1}, {"a": 2, "b": 2}]),
        (lambda x: (x * 2, x, x), [(2, 1, 1), (4, 2, 2)]),
    ],
)
def test_map_returns_one_tensor_twice(function, expected):
    element = tf.data.Dataset.from_tensor_slices([1, 2]).map(function)
    element = element.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(element) for _ in range(2)] == expected


@pytest.mark.parametrize("as_method", [True, False])
def test_table_in_map(as_method):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
    )
    words = tf.data.Dataset.from_tensor_slices(["b", "z"])
    found = words.map(table.lookup if as_method else lambda w: table.lookup(w))
    iterator = found.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        sess.run([tf.tables_initializer(), iterator.initializer])
        assert [sess.run(element) for _ in range(2)] == [2, -1]


def test_an_iterator_made_of_its_parts() -> None:
    with tf.Graph().as_default():
        made = tf.data.Dataset.range(3).make_initializable_iterator()
        again = tf.data.Iterator(
            made._iterator_resource, None, made.output_types, made.output_shapes
        )
        element = again.get_next()
        with tf.Session() as session:
            session.run(made.initializer)
            assert [session.run(element) for _ in range(3)] == [0, 1, 2]


def test_texts_that_are_padded_in_batches_are_texts() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        texts = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
        batch = texts.padded_batch(2, [], "").make_one_shot_iterator().get_next()
        assert sess.run(batch).tolist() == [b"a", b"b"]


@pytest.mark.parametrize("given", [(0, 3, 1), (3, 0, 1), (3, 3, 0)])
def test_a_window_of_no_size_is_refused(given: tuple[int, int, int]) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        windows = tf.data.Dataset.range(10).window(*given).flat_map(lambda w: w.batch(3))
        iterator = windows.make_initializable_iterator()
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="must be greater than zero, got 0"
        ):
            sess.run(iterator.initializer)
