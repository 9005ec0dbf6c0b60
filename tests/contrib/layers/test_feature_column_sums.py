"""Sums, transformations and parsing by feature columns of ``tf.contrib.layers``."""

import numpy as np
import pytest

import dataflow as tf

layers = tf.contrib.layers


pytestmark = pytest.mark.usefixtures("graph")


def run(fetch):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return sess.run(fetch)


def columns():
    return [layers.real_valued_column("age"), layers.sparse_column_with_keys("city", ["a", "b"])]


FEATURES = {"age": [[2.0], [4.0]], "city": [["a"], ["b"]]}


@pytest.mark.parametrize("function", ["weighted_sum"])
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


def ragged(values, dtype=None):
    return tf.SparseTensor([[0, 0], [1, 0], [1, 1]], np.array(values, dtype), [2, 2])


def test_crosses_hash_features_as_1_15_does():
    """Buckets of TensorFlow 1.15.5."""
    one = tf.SparseTensor([[0, 0], [1, 0]], ["p", "q"], [2, 1])
    ids = tf.SparseTensor([[0, 0], [1, 0]], np.array([1, 2]), [2, 1])
    features = {"a": ragged(["x", "y", "z"]), "b": one, "i": ids, "n": [[1.0], [25.0]]}
    a = layers.sparse_column_with_hash_bucket("a", 10)
    b = layers.sparse_column_with_hash_bucket("b", 10)
    i = layers.sparse_column_with_integerized_feature("i", 5)
    n = layers.bucketized_column(layers.real_valued_column("n"), [0.0, 10.0, 20.0])
    key = layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY
    crosses = {
        layers.crossed_column([a, b], 100): [27, 1, 69],
        layers.crossed_column([layers.sparse_column_with_keys("a", ["x"]), b], 100): [27, 1, 69],
        layers.crossed_column([a, b], 100, hash_key=key): [52, 92, 51],
        layers.crossed_column([a, i], 100): [43, 26, 74],
        layers.crossed_column([a, n], 100): [43, 27, 75],
        layers.crossed_column([layers.crossed_column([b, a], 50), i], 1000): [698, 462, 11],
    }
    for cross, wanted in crosses.items():
        found = layers.transform_features(features, [cross])[cross]
        assert run(found).values.tolist() == wanted, cross.name
    texts = layers.sparse_feature_cross([features["a"], one, tf.constant([["s"], ["t"]])])
    assert run(texts).values.tolist() == [b"x_X_p_X_s", b"y_X_q_X_t", b"z_X_q_X_t"]
    with pytest.raises(TypeError, match="must be a list"):
        layers.sparse_feature_cross((one,))
    with pytest.raises(TypeError, match="must be sparse columns"):
        layers.crossed_column([a, layers.real_valued_column("n")], 10)
    with pytest.raises(ValueError, match="at least two"):
        layers.crossed_column([a], 10)


@pytest.mark.parametrize(
    ("combiner", "wanted"), [("sum", 9.0), ("mean", 4.5), ("sqrtn", 6.3639610)]
)
def test_sparse_columns_have_combiners(combiner, wanted):
    column = layers.sparse_column_with_keys("a", ["x", "y", "z"], combiner=combiner)
    weighted = layers.weighted_sparse_column(column, "w")
    features = {"a": ragged(["x", "y", "z"]), "w": ragged([1.0, 1.0, 1.0], np.float32)}
    for one in (column, weighted):
        total, weights, _ = layers.weighted_sum_from_feature_columns(features, [one], 1)
        (variable,) = weights[one]
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            sess.run(variable.assign([[2.0], [4.0], [5.0]]))
            np.testing.assert_allclose(sess.run(total), [[2.0], [wanted]], rtol=1e-6)


def test_columns_have_contribs_attributes():
    a = layers.sparse_column_with_hash_bucket("a", 10)
    real = layers.real_valued_column("x", 2, default_value=1.0)
    buckets = layers.bucketized_column(layers.real_valued_column("n"), [1.0, 1.0, 2.0])
    shared = layers.shared_embedding_columns(
        [layers.sparse_column_with_hash_bucket(k, 10) for k in "abcde"], 3
    )
    assert (a.column_name, a.bucket_size, a.length, a.is_integerized) == ("a", 10, 10, False)
    assert (real.dimension, real.default_value, real.normalizer) == (2, (1.0, 1.0), None)
    assert buckets.boundaries == (1.0, 2.0) and buckets.length == 3
    assert layers.embedding_column(a, 3).sparse_id_column is a
    features = {k: ragged(["x", "y", "z"]) for k in "abcde"}
    layers.input_from_feature_columns(features, shared)
    assert [v.op.name for v in tf.global_variables()] == [
        "input_from_feature_columns/a_shared_embedding/a_b_c_plus_2_others_shared_embedding"
    ]
    ids = layers.sparse_column_with_integerized_feature("i", 2)
    found = layers.transform_features({"i": [[1], [2], [5]]}, [ids])[ids]
    assert run(found).values.tolist() == [1, 0, 1]
    with pytest.raises(NotImplementedError, match="bucketized_column"):
        layers.joint_weighted_sum_from_feature_columns({}, [real], 1)


def test_columns_tell_their_features() -> None:
    layers = tf.contrib.layers
    word = layers.sparse_column_with_hash_bucket("word", 10)
    size = layers.real_valued_column("size", 2, default_value=[1.0, 2.0])
    weighted = layers.weighted_sparse_column(word, "weight")
    assert word.config == {"word": tf.VarLenFeature(tf.string)}
    assert size.config == {"size": tf.FixedLenFeature([2], tf.float32, [1.0, 2.0])}
    assert weighted.config == {**word.config, "weight": tf.VarLenFeature(tf.float32)}
    assert layers.bucketized_column(size, [0.0]).config == size.config
    assert layers.crossed_column([word, word], 5).config == word.config
    for column in (layers.one_hot_column(word), layers.embedding_column(word, 3)):
        assert column.config == word.config and column.length == 10
    assert layers.embedding_column(word, 3).shared_embedding_name is None
    shared = layers.shared_embedding_columns([word], 3, shared_embedding_name="table")[0]
    assert shared.shared_embedding_name == "table" and shared.length == 10
    with pytest.raises(ValueError, match="dimension must be greater than 0"):
        layers.real_valued_column("none", 0)


def test_weights_of_a_cross_may_begin_with_those_of_a_checkpoint(tmp_path) -> None:
    path = str(tmp_path / "model.ckpt")
    with tf.Graph().as_default(), tf.Session() as session:
        saved = tf.get_variable("w", initializer=[[1.0], [2.0], [3.0], [4.0]])
        session.run(saved.initializer)
        tf.train.Saver().save(session, path)
    with tf.Graph().as_default(), tf.Session() as session:
        parts = [layers.sparse_column_with_hash_bucket(name, 4) for name in "ab"]
        cross = layers.crossed_column(parts, 4, ckpt_to_load_from=path, tensor_name_in_ckpt="w")
        features = {name: tf.constant([["x"]]) for name in "ab"}
        _, weights, _ = layers.weighted_sum_from_feature_columns(features, [cross], 1)
        session.run(tf.global_variables_initializer())
        assert session.run(weights[cross][0])[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="or none of them"):
        layers.crossed_column(parts, 4, ckpt_to_load_from=path)


def test_columns_are_inferred_with_the_dtype_of_the_numbers() -> None:
    made = layers.infer_real_valued_columns(
        {"b": tf.zeros([3, 2, 2]), "a": tf.zeros([3], tf.int64)}
    )
    assert [(c.key, c.shape, c.dtype) for c in made] == [
        ("a", (1,), tf.int64),
        ("b", (4,), tf.float32),
    ]
    (one,) = tf.contrib.learn.infer_real_valued_columns_from_input(np.ones([7, 8], np.int32))
    assert (one.shape, one.dtype) == ((8,), tf.int32)
    for values, text in (
        (tf.constant([["a"]]), "on integer or non floating types"),
        (tf.SparseTensor([[0]], [1.0], [1]), "SparseTensor is not supported"),
        (tf.placeholder(tf.float32), "Unknown shape"),
    ):
        with pytest.raises(ValueError, match=text):
            layers.infer_real_valued_columns(values)
    with pytest.raises(ValueError, match="cannot be tensors"):
        tf.contrib.learn.infer_real_valued_columns_from_input(tf.zeros([2, 2]))
