"""Paths of TensorFlow's private modules of Keras, estimators, training and data, and what only they have."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import (
    checkpoint_gc,
    dataset_reader_tests,
    keras_names,
    keras_test_models,
    library_paths,
)
from dataflow.python.data_conversions import optional_param_to_tensor, partial_shape_to_tensor
from dataflow.python.dataset_readers import make_tf_record_dataset
from dataflow.python.keras_tests import model_type_scope

PLACES = {
    "keras.optimizer_v2.adam": ("Adam", tf.keras.optimizers.Adam),
    "keras.optimizer_v2.gradient_descent": ("SGD", tf.keras.optimizers.SGD),
    "keras.optimizer_v2.optimizer_v2": ("OptimizerV2", tf.keras.optimizers.Optimizer),
    "keras.layers.dense_attention": ("Attention", tf.keras.layers.Attention),
    "keras.saving.save": ("load_model", tf.keras.models.load_model),
    "python.estimator.canned.metric_keys": ("MetricKeys", None),
    "python.estimator.export.export": (
        "ServingInputReceiver",
        tf.estimator.export.ServingInputReceiver,
    ),
    "python.training.tracking.tracking": ("AutoTrackable", None),
    "contrib.timeseries.python.timeseries": ("NumpyReader", tf.contrib.timeseries.NumpyReader),
    "python.data.experimental.kernel_tests.serialization.dataset_serialization_test_base": (
        "DatasetSerializationTestBase",
        None,
    ),
}


@pytest.mark.parametrize("path", PLACES)
def test_a_private_module_has_its_names(path: str) -> None:
    name, same = PLACES[path]
    found = getattr(importlib.import_module(f"dataflow.{path}"), name)
    assert same is None or found is same


def test_every_path_of_the_table_loads() -> None:
    for line in library_paths.LIBRARY_TABLE.strip().splitlines():
        path, _, homes = line.partition(" : ")
        assert homes, line
        stem, _, words = path.partition("{")
        for word in words.partition("}")[0].split() or [""]:
            importlib.import_module(f"dataflow.{stem}{word}{words.partition('}')[2]}")


def test_which_exports_are_kept(tmp_path: Path) -> None:
    gc = checkpoint_gc
    paths = [gc.Path(f"/foo/{i}", i) for i in (8, 0, 9, 10, 12)]
    numbers = lambda keep: [p.export_version for p in keep(paths)]
    assert numbers(gc.largest_export_versions(2)) == [10, 12]
    assert numbers(gc.one_of_every_n_export_versions(3)) == [0, 12, 9]
    assert numbers(gc.mod_export_version(2)) == [0, 10, 12, 8]
    both = gc.union(gc.largest_export_versions(1), gc.mod_export_version(5))
    assert numbers(both) == [0, 10, 12]
    assert numbers(gc.negation(both)) == [8, 9]
    unnumbered = [gc.Path("/foo", None)]
    assert gc.largest_export_versions(2)(unnumbered) == []
    assert gc.one_of_every_n_export_versions(2)(unnumbered) == []
    for name in ("2", "1", "other"):
        (tmp_path / name).mkdir()
    parse = lambda p: p._replace(export_version=int(n)) if (n := p.path[-1]).isdigit() else None
    assert [p.export_version for p in gc.get_paths(tmp_path, parse)] == [1, 2]


def test_arguments_of_datasets_as_tensors() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(optional_param_to_tensor("n", None, 7)) == 7
        assert session.run(optional_param_to_tensor("n", 3)) == 3
        for given in ([2, None], tf.TensorShape([2, None]), tf.constant([2, -1], tf.int64)):
            tensor = partial_shape_to_tensor(given)
            assert tensor.dtype == tf.int64
            assert session.run(tensor).tolist() == [2, -1]
        assert session.run(partial_shape_to_tensor([])).tolist() == []
        with pytest.raises(ValueError, match="1-D"):
            partial_shape_to_tensor(tf.constant([[1, 1]], tf.int64))
        with pytest.raises(TypeError, match="int64"):
            partial_shape_to_tensor(tf.constant([1.0, 1.0]))


def test_names_of_keras() -> None:
    assert keras_names.AUCCurve.from_str("pr") == "PR"
    with pytest.raises(ValueError, match="Invalid AUCSummationMethod 'x'"):
        keras_names.AUCSummationMethod.from_str("x")
    assert keras_names.parse_init_thresholds(None) == [0.5]
    assert keras_names.parse_init_thresholds(0.25) == [0.25]
    with pytest.raises(ValueError, match="-1"):
        keras_names.parse_init_thresholds([0.5, -1])
    with tf.Graph().as_default():
        x = tf.keras.Input([2])
        plain = tf.constant([[1.0, 2.0]])
        assert keras_names.have_all_keras_metadata([x])
        assert not keras_names.have_all_keras_metadata([x, plain])
        y = tf.square(x)
        keras_names.create_keras_history(y)
        assert keras_names.have_all_keras_metadata(y)
        assert keras_names.generate_placeholders_from_shape([None, 3]).shape.as_list() == [None, 3]


def test_a_loss_given_by_a_function() -> None:
    loss = tf.keras.losses.LossFunctionWrapper(
        lambda y_true, y_pred, scale: scale * (y_pred - y_true), "none", "mine", scale=2.0
    )
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(loss([1.0, 2.0], [2.0, 5.0])).tolist() == [2.0, 6.0]
    assert loss.get_config() == {"reduction": "none", "name": "mine", "scale": 2.0}


@pytest.mark.parametrize("kind", ["functional", "subclass", "subclass_custom_build"])
@pytest.mark.parametrize("shared", [False, True])
def test_models_of_two_branches(kind: str, shared: bool) -> None:
    dense = tf.keras.layers.Dense
    ones = {"kernel_initializer": "ones"}
    with tf.Graph().as_default(), model_type_scope(kind):
        first = [
            tf.keras.Input((2,)),
            tf.keras.layers.Activation("linear"),
        ]
        branches = [[dense(2, **ones)], [dense(3, **ones)]]
        if not shared:
            branches = [[tf.keras.Input((2,)), *branch] for branch in branches]
        model = keras_test_models.get_multi_io_model(*branches, first if shared else None)
        x = np.array([[1.0, 2.0]], "float32")
        a, b = model.predict(x if shared else [x, 2 * x])
    assert a.tolist() == [[3.0, 3.0]]
    assert b.tolist() == [[3.0] * 3 if shared else [6.0] * 3]


def test_a_sequential_model_has_one_branch() -> None:
    with model_type_scope("sequential"), pytest.raises(ValueError, match="sequential"):
        keras_test_models.get_multi_io_model([], [])


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.SimpleTestModel(use_bn=True, use_dp=True),
        lambda m: m.NestedTestModel1(),
        lambda m: m.NestedTestModel2(),
        lambda m: m.get_nested_model_3(32, 4),
    ],
    ids=["simple", "nested 1", "nested 2", "nested 3"],
)
def test_subclassed_models_of_tests_train(make: object) -> None:
    with tf.Graph().as_default():
        model = make(keras_test_models)  # type: ignore[operator]
        model.compile("sgd", "mse")
        x = np.ones([8, 32], "float32")
        y = model.predict(x)
        assert np.isfinite(model.train_on_batch(x, np.zeros_like(y)))


def test_other_models_of_tests() -> None:
    with tf.Graph().as_default():
        a, b = keras_test_models.MultiIOTestModel().predict([np.ones([2, 3], "float32")] * 2)
        assert a.shape == (2, 2) and b.shape == (2, 3)
        images = np.ones([2, 6, 6, 1], "float32")
        assert keras_test_models.SimpleConvTestModel().predict(images).shape == (2, 10)
        custom = keras_test_models.CustomCallModel()
        one = custom(tf.ones([1, 2]), tf.ones([1, 2]))
        ten = custom(tf.ones([1, 2]), tf.ones([1, 2]), fiddle_with_output="yes")
        keras_test_models.TrainingNoDefaultModel()(tf.ones([1, 2]), training=True)
        keras_test_models.TrainingMaskingModel()(tf.ones([1, 2]))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            x, y = session.run([one, ten])
            np.testing.assert_allclose(10 * x, y, rtol=1e-6)


def _case(base: type) -> Any:
    case = base()
    case.setUp()
    return case


@pytest.mark.parametrize(("batch_size", "threads"), [(1, 1), (2, 2), (3, 1)])
def test_a_base_of_tests_of_examples(batch_size: int, threads: int) -> None:
    case = _case(dataset_reader_tests.MakeBatchedFeaturesDatasetTestBase)
    with tf.Graph().as_default(), tf.Session():
        make = lambda files: case.make_batch_feature(
            files, 2, batch_size, "label", reader_num_threads=threads
        )
        case.outputs = case.getNext(make(case.test_filenames))
        case.verify_records(
            batch_size, num_epochs=2, label_key_provided=True, interleave_cycle_length=threads
        )
        with pytest.raises(tf.errors.OutOfRangeError):
            case._next_actual_batch(True)
        case.outputs = case.getNext(make(case.test_filenames[:1]))
        with pytest.raises(AssertionError):
            case.verify_records(batch_size, 1, 2, True)
    assert case._sum_keywords(2) == 21


@pytest.mark.parametrize("parser", [None, lambda record: tf.strings.substr(record, 1, 999)])
def test_a_base_of_tests_of_records(parser: Any) -> None:
    case = _case(dataset_reader_tests.TFRecordDatasetTestBase)
    with tf.Graph().as_default(), tf.Session():
        for reads, prefetch in ((1, 0), (2, None)):
            dataset = make_tf_record_dataset(
                case.test_filenames, 2, parser, 1, False,
                num_parallel_reads=reads, prefetch_buffer_size=prefetch,
            )  # fmt: skip
            case._verify_records(case.getNext(dataset), 2, None, 1, reads, False, bool(parser))
        endless = make_tf_record_dataset(case.test_filenames, 4, shuffle_seed=3)
        assert endless.output_shapes.as_list() == [4]
        next_batch = case.getNext(endless)
        assert [len(case.evaluate(next_batch())) for _ in range(5)] == [4] * 5


def test_bases_of_tests_of_texts() -> None:
    case = _case(dataset_reader_tests.TextLineDatasetTestBase)
    for crlf, packed in ((False, None), (True, "GZIP"), (False, "ZLIB")):
        names = case._createFiles(2, 3, crlf, packed)
        lines = [case._lineText(i, j) for i in range(2) for j in range(3)]
        with tf.Graph().as_default(), tf.Session():
            dataset = tf.data.TextLineDataset(names, compression_type=packed or "")
            case.assertDatasetProduces(dataset, lines)
    with pytest.raises(ValueError, match="Unsupported"):
        case._createFiles(1, 1, compression_type="x")
    fixed = _case(dataset_reader_tests.FixedLengthRecordDatasetTestBase)
    with tf.Graph().as_default(), tf.Session():
        dataset = tf.data.FixedLengthRecordDataset(fixed._createFiles(), 3, 5, 2)
        records = [fixed._record(i, j) for i in range(2) for j in range(7)]
        fixed.assertDatasetProduces(dataset, records)


def test_a_reader_of_queues_is_no_reader_of_datasets() -> None:
    features = {"file": tf.FixedLenFeature([], tf.int64)}
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        tf.data.experimental.make_batched_features_dataset(
            "x", 32, features, reader=tf.TFRecordReader
        )
