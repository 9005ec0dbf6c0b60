"""Sums, transformations and parsing by feature columns of ``tf.contrib.layers``."""

import numpy as np
import pytest

import dataflow as tf

layers = tf.contrib.layers


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetch):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return sess.run(fetch)


def columns():
    return [layers.real_valued_column("age"), layers.sparse_column_with_keys("city", ["a", "b"])]


FEATURES = {"age": [[2.0], [4.0]], "city": [["a"], ["b"]]}


@pytest.mark.parametrize("function", ["weighted_sum", "joint_weighted_sum"])
def test_weighted_sums(function):
    age, city = columns()
    total, weights, bias = getattr(layers, f"{function}_from_feature_columns")(
        FEATURES, [age, city], 2
    )
    assert total.shape[1] == 2 and set(weights) == {age, city}
    sets = [
        tf.assign(weights[age][0], [[1.0, 10.0]]),
        tf.assign(weights[city][0], [[0.5, 0.0], [0.0, 0.5]]),
        tf.assign(bias, [100.0, 200.0]),
    ]
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        sess.run(sets)
        assert sess.run(total).tolist() == [[102.5, 220.0], [104.0, 240.5]]


def test_transformed_features():
    age, city = columns()
    found = layers.transform_features(FEATURES, [age, city])
    assert set(found) == {age, city}
    numbers, ids = run([found[age], found[city]])
    assert numbers.tolist() == [[2], [4]] and ids.values.tolist() == [0, 1]


def test_columns_parse_examples():
    example = tf.train.Example()
    example.features.feature["age"].float_list.value.append(3.0)
    example.features.feature["city"].bytes_list.value.append(b"b")
    parsed = layers.parse_feature_columns_from_examples([example.SerializeToString()], columns())
    age, city = run([parsed["age"], parsed["city"]])
    assert age.tolist() == [[3]] and city.values.tolist() == [b"b"]


def test_columns_are_checked():
    age = layers.real_valued_column("age")
    layers.check_feature_columns([age])
    for wrong in (None, {"age": age}, [age, layers.real_valued_column("age")]):
        with pytest.raises(ValueError, match=r"[Ff]eature.columns?"):
            layers.check_feature_columns(wrong)
        with pytest.raises(ValueError, match=r"[Ff]eature.columns?"):
            layers.weighted_sum_from_feature_columns(FEATURES, wrong, 1)


def test_shared_embeddings():
    first, second = (layers.sparse_column_with_keys(name, ["a", "b"]) for name in ("p", "q"))
    shared = layers.shared_embedding_columns([first, second], dimension=3)
    found = layers.input_from_feature_columns({"p": [["a"]], "q": [["a"]]}, shared)
    row = run(found)[0]
    np.testing.assert_array_equal(row[:3], row[3:])


def many_columns():
    keys = layers.sparse_column_with_keys("a", ["x", "y"])
    hashed = layers.sparse_column_with_hash_bucket("b", 10)
    number = layers.real_valued_column("r")
    bucketized = layers.bucketized_column(number, [0.0])
    return keys, hashed, number, bucketized


def test_variables_have_the_names_of_old_checkpoints():
    keys, hashed, number, bucketized = many_columns()
    features = {"a": [["x"]], "b": [["u"]], "r": [[0.5]]}
    layers.weighted_sum_from_feature_columns(features, [keys, number, bucketized], 1)
    dense = [layers.embedding_column(keys, 2), number, layers.embedding_column(hashed, 3)]
    layers.input_from_feature_columns(features, dense)
    assert {v.op.name for v in tf.global_variables()} == {
        "weighted_sum_from_feature_columns/a/weights",
        "weighted_sum_from_feature_columns/r/weight",
        "weighted_sum_from_feature_columns/r_bucketized/weights",
        "weighted_sum_from_feature_columns/bias_weight",
        "input_from_feature_columns/a_embedding/weights",
        "input_from_feature_columns/b_embedding/weights",
    }


def test_columns_stand_side_by_side_as_in_tensorflow():
    keys, hashed, number, bucketized = many_columns()
    dense = [
        number,
        layers.one_hot_column(keys),
        layers.embedding_column(keys, 1, initializer=tf.constant_initializer(7.0)),
        layers.embedding_column(hashed, 1, initializer=tf.constant_initializer(8.0)),
        bucketized,
    ]
    found = layers.input_from_feature_columns({"a": [["y"]], "b": [["u"]], "r": [[0.5]]}, dense)
    assert run(found).tolist() == [[0.0, 1.0, 8.0, 7.0, 0.0, 1.0, 0.5]]
    with pytest.raises(ValueError, match="It is sparse"):
        layers.input_from_feature_columns({"a": [["y"]]}, [keys])


def test_arguments_have_the_names_of_tensorflow():
    columns = [layers.sparse_column_with_integerized_feature(n, 4) for n in ("p", "q")]
    shared = layers.shared_embedding_columns(
        sparse_id_columns=columns, dimension=2, shared_embedding_name="s"
    )
    crossed = layers.crossed_column(columns=columns, hash_bucket_size=5)
    assert len(shared) == 2 and crossed.name == "p_X_q"
