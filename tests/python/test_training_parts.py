"""Parts of TensorFlow's modules of training, data and Keras that its own tests name."""

from __future__ import annotations

import glob
import os

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.testing import (
    FakeSummaryWriter,
    assert_summary,
    latest_summaries,
    simple_values_from_events,
    to_summary_proto,
)
from dataflow.python.data.kernel_tests import test_base
from dataflow.python.data.ops import dataset_ops
from dataflow.python.keras.layers import serialization
from dataflow.python.saved_model.model_utils import mode_keys
from dataflow.python.summary import plugin_asset
from dataflow.python.training import (
    basic_session_run_hooks,
    monitored_session,
    moving_averages,
    tensorboard_logging,
    training_util,
    warm_starting_util,
)

pytestmark = pytest.mark.usefixtures("graph")


def test_modes_have_keras_and_estimators_names():
    keys = mode_keys.ModeKeyMap(predict=3, test=1)
    assert [keys[name] for name in ("predict", "infer", "test", "eval")] == [3, 3, 1, 1]
    assert (len(keys), set(keys), set(keys.values())) == (2, {"predict", "test"}, {1, 3})
    for name in ("train", mode_keys.EstimatorModeKeys.TRAIN):
        with pytest.raises(KeyError):
            keys[name]
    with pytest.raises(ValueError, match="Invalid mode"):
        keys["serve"]
    with pytest.raises(ValueError, match="Multiple keys/values"):
        mode_keys.ModeKeyMap(predict=3, infer=1)
    assert mode_keys.is_train("train")
    assert not mode_keys.is_eval("train")


class _Notes(plugin_asset.PluginAsset):
    plugin_name = "notes"

    def __init__(self):
        self.lines = {}

    def assets(self):
        return self.lines


class _OtherNotes(plugin_asset.PluginAsset):
    plugin_name = "notes"


def test_assets_of_a_graph_are_written_beside_its_events(tmp_path):
    asset = plugin_asset.get_plugin_asset(_Notes)
    assert plugin_asset.get_plugin_asset(_Notes) is asset
    assert plugin_asset.get_all_plugin_assets() == [asset]
    assert plugin_asset.get_all_plugin_assets(tf.Graph()) == []
    with pytest.raises(ValueError, match="collision"):
        plugin_asset.get_plugin_asset(_OtherNotes)
    with pytest.raises(ValueError, match="has no plugin_name"):
        plugin_asset.get_plugin_asset(plugin_asset.PluginAsset)
    asset.lines.update({"a.txt": "text", "b.bin": b"\0\1"})
    tf.summary.FileWriter(str(tmp_path), tf.get_default_graph()).close()
    folder = tmp_path / "plugins" / "notes"
    assert (folder / "a.txt").read_text() == "text"
    assert (folder / "b.bin").read_bytes() == b"\0\1"


def test_log_lines_go_into_an_event_file_from_a_level_on(tmp_path):
    tensorboard_logging._clear_summary_writer()
    with pytest.raises(RuntimeError, match="set_summary_writer"):
        tensorboard_logging.error("before")
    writer = tf.summary.FileWriter(str(tmp_path))
    tensorboard_logging.set_summary_writer(writer)
    tensorboard_logging.set_verbosity(tensorboard_logging.ERROR)
    tensorboard_logging.warn("left out")
    tensorboard_logging.error("for%s", "mat")
    tensorboard_logging.set_verbosity(tensorboard_logging.WARN)
    assert tensorboard_logging.get_verbosity() == "WARN"
    for wrong in (
        lambda: tensorboard_logging.set_verbosity("loud"),
        lambda: tensorboard_logging.log("loud", "x"),
    ):
        with pytest.raises(ValueError, match="not a valid"):
            wrong()
    writer.close()
    tensorboard_logging.set_summary_writer(None)
    tensorboard_logging.warn("only logged")
    tensorboard_logging._clear_summary_writer()
    events = list(tf.train.summary_iterator(glob.glob(os.path.join(str(tmp_path), "events*"))[0]))
    lines = [e.log_message.message for e in events if e.HasField("log_message")]
    assert lines == ["format"]


def test_a_weighted_moving_average_counts_each_run():
    value, weight = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    average = moving_averages.weighted_moving_average(value, 0.5, weight)
    assert [v.op.name for v in tf.global_variables()] == [
        "WeightedMovingAvg/value_x_weight",
        "WeightedMovingAvg/weight",
    ]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(average, {value: 3.0, weight: 4.0}) == 3.0
        second = sess.run(average, {value: 11.0, weight: 22.0})
    assert second == pytest.approx((3 * 4 * 0.25 + 11 * 22 * 0.5) / (4 * 0.25 + 22 * 0.5))


def test_hooks_know_how_far_a_run_goes(tmp_path):
    tf.train.get_or_create_global_step()
    step = training_util._increment_global_step(5)
    writer = FakeSummaryWriter(str(tmp_path), tf.get_default_graph())
    counter = basic_session_run_hooks.StepCounterHook(every_n_steps=10, summary_writer=writer)
    saver = basic_session_run_hooks.CheckpointSaverHook(
        str(tmp_path), save_steps=10, saver=tf.train.Saver()
    )
    for hook in (counter, saver):
        hook._set_steps_per_run(5)
        hook.begin()
    saved = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        session = monitored_session._HookedSession(sess, [counter, saver])
        for _ in range(5):
            session.run(step)
            path = tf.train.latest_checkpoint(str(tmp_path))
            saved.append(int(path.rpartition("-")[2]))
    assert saved == [5, 5, 15, 15, 25]
    assert sorted(writer.summaries) == [15, 25]
    assert writer.summaries[15][0].value[0].tag == "global_step/sec"


class _Here:
    """The assertions that `FakeSummaryWriter.assert_summaries` calls."""

    def assertEqual(self, first, second, *_):
        assert first == second

    def assertTrue(self, what, *_):
        assert what


def test_a_fake_writer_keeps_what_it_is_given(tmp_path):
    with pytest.raises(ValueError, match="not installed"):
        FakeSummaryWriter.uninstall()
    FakeSummaryWriter.install()
    try:
        writer = tf.summary.FileWriterCache.get(str(tmp_path))
        assert isinstance(writer, FakeSummaryWriter)
        with pytest.raises(ValueError, match="already installed"):
            FakeSummaryWriter.install()
    finally:
        FakeSummaryWriter.uninstall()
    assert isinstance(tf.summary.FileWriterCache.get(str(tmp_path)), tf.summary.FileWriter)
    with tf.Session() as sess:
        writer.add_summary(sess.run(tf.summary.scalar("loss", 2.5)), 7)
    writer.add_graph(tf.get_default_graph())
    writer.assert_summaries(
        _Here(),
        expected_logdir=str(tmp_path),
        expected_summaries={7: {"loss": 2.5}},
        expected_added_graphs=[tf.get_default_graph()],
    )
    for wrong in ({7: {"loss": 2.0}}, {8: {}}):
        with pytest.raises(AssertionError):
            writer.assert_summaries(_Here(), expected_summaries=wrong)
    with pytest.raises(ValueError, match="Invalid global_step"):
        writer.add_graph(tf.get_default_graph(), -1)


def test_summaries_of_the_newest_file_are_read(tmp_path):
    loss = tf.summary.scalar("loss", tf.constant(2.5))
    assert latest_summaries(str(tmp_path)) == []
    with tf.Session() as sess, tf.summary.FileWriter(str(tmp_path)) as writer:
        summary = sess.run(loss)
        writer.add_summary(summary, 3)
    events = latest_summaries(str(tmp_path))
    assert [e.step for e in events] == [3]
    assert simple_values_from_events(events, ["loss"]) == {"loss": 2.5}
    assert simple_values_from_events(events, ["other"]) == {}
    message = to_summary_proto(summary)
    assert_summary(["loss"], {"loss": 2.5}, message)
    for tags, values in ((["other"], {}), (["loss"], {"loss": 2.0})):
        with pytest.raises(AssertionError):
            assert_summary(tags, values, message)


def _checkpoint(folder, **values):
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, value in values.items():
            tf.get_variable(name, initializer=value)
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(folder / "model"), global_step=0)


def test_rows_of_a_variable_follow_their_words(tmp_path):
    _checkpoint(tmp_path, fruit=[[0.5], [1.0], [1.5], [2.0]])
    for name, words in (("old", "a b c d"), ("new", "d c b a e")):
        (tmp_path / name).write_text("\n".join(words.split()))
    paths = [str(tmp_path / name) for name in ("new", "old")]
    variable = tf.get_variable("fruit", initializer=tf.zeros([5, 1]))
    assert warm_starting_util._get_var_info(variable) == ("fruit", variable)
    assert warm_starting_util._get_var_info(variable, "x") == ("x", variable)
    warm_starting_util._warm_start_var_with_vocab(variable, paths[0], 5, str(tmp_path), paths[1], 3)
    parted = tf.get_variable(
        "parted", [5, 1], initializer=tf.zeros_initializer(), partitioner=lambda *_, **__: [2, 1]
    )
    assert warm_starting_util._get_var_info(list(parted))[0] == "parted"
    warm_starting_util._warm_start_var_with_vocab(
        parted, paths[0], 5, str(tmp_path), paths[1], prev_tensor_name="fruit"
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values = sess.run([variable, tf.convert_to_tensor(parted)])
    np.testing.assert_array_equal(values[0][:, 0], [0, 1.5, 1, 0.5, 0])
    np.testing.assert_array_equal(values[1][:, 0], [2, 1.5, 1, 0.5, 0])
    with pytest.raises(TypeError, match="MUST be one of"):
        warm_starting_util._warm_start_var_with_vocab([parted], *paths[:1], 5, "x", paths[1])
    with pytest.raises(ValueError, match="Must provide all"):
        warm_starting_util._warm_start_var_with_vocab(variable, "", 5, "x", paths[1])


def test_a_checkpoint_of_objects_starts_variables_by_their_names(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        variable = tf.get_variable("weights", initializer=[[0.5], [2.0]])
        sess.run(variable.initializer)
        tf.train.Checkpoint(v=variable).save(str(tmp_path / "ck"), session=sess)
    variable = tf.get_variable("weights", initializer=[[0.0], [0.0]])
    tf.train.warm_start(str(tmp_path))
    with tf.Session() as sess:
        sess.run(variable.initializer)
        np.testing.assert_array_equal(sess.run(variable), [[0.5], [2.0]])
    tf.get_variable("more", initializer=1.0)
    with pytest.raises(ValueError, match=r"Missing: more\."):
        tf.train.warm_start(str(tmp_path))


def test_a_layer_that_is_an_activation_comes_back_from_its_config():
    keras = tf.keras
    config = serialization.serialize(keras.layers.Dense(3, activation=keras.layers.LeakyReLU(0.1)))
    with pytest.raises(ValueError, match="Unknown activation"):
        serialization.deserialize(config)
    known = {"LeakyReLU": keras.layers.LeakyReLU}
    layer = serialization.deserialize(config, custom_objects=known)
    assert isinstance(layer.activation, keras.layers.LeakyReLU)
    activation = config["config"]["activation"]
    assert keras.activations.deserialize(activation, known).alpha == pytest.approx(0.1)
    assert tf.python.ops.nn_ops.softmax_v2.__name__ == "softmax"


def test_a_variable_is_set_to_zeros_once():
    for use_resource in (False, True):
        variable = tf.get_variable(f"v{use_resource}", initializer=[1.0], use_resource=use_resource)
        zeros = tf.contrib.framework.zero_initializer(variable)
        with tf.Session() as sess:
            sess.run(zeros)
            assert sess.run(variable) == [0.0]
            with pytest.raises(tf.errors.InvalidArgumentError, match="already initialized"):
                sess.run(zeros)


def test_contribs_losses_want_a_known_rank():
    unknown, known = tf.placeholder(tf.float32), tf.zeros([3, 2, 3])
    for predictions, weights in ((unknown, 1.0), (known, tf.placeholder(tf.float32))):
        with pytest.raises(ValueError, match="cannot be None"):
            tf.contrib.losses.cosine_distance(predictions, known, dim=2, weights=weights)


def test_groups_that_do_not_fit_are_named():
    group_norm = tf.contrib.layers.group_norm
    x = tf.placeholder(tf.float32, [5, 4, 10, 12])
    for arguments, text in (
        ({"groups": 13}, "Invalid groups 13 for 12 channels"),
        ({"groups": 5}, "12 channels is not commensurate with 5 groups"),
        ({"channels_axis": 5}, "Axis is out of bounds"),
        ({"reduction_axes": [1, 5]}, "Axis is out of bounds"),
        ({"reduction_axes": [1, -5]}, "Axis is out of bounds"),
        ({"channels_axis": -2, "reduction_axes": [2]}, "mutually exclusive"),
    ):
        with pytest.raises(ValueError, match=text):
            group_norm(x, **{"groups": 4, **arguments})


def test_a_name_of_a_tensor_needs_a_graph():
    with tf.python.eager.context.eager_mode(), pytest.raises(RuntimeError, match="not supported"):
        tf.saved_model.utils.build_tensor_info(tf.constant(1))


class _DatasetTest(test_base.DatasetTestBase):
    def runTest(self):
        """Elements and errors, in graphs and without."""
        for mode in (tf.Graph().as_default, tf.python.eager.context.eager_mode):
            with mode():
                self.assertDatasetProduces(dataset_ops.Dataset.range(2, 8, 2), range(2, 8, 2))
                shapes = dataset_ops.Dataset.from_generator(
                    lambda: ([0.0] * n for n in (3, 3, 4)), tf.float32, [None]
                )
                error = r"component 0. First element had shape \[3\] and element 2 had shape \[4\]"
                self.assertDatasetProduces(
                    shapes.batch(3), expected_error=(tf.errors.InvalidArgumentError, error)
                )
                with pytest.raises(AssertionError):
                    self.assertDatasetProduces(dataset_ops.Dataset.range(3), [0, 1, 3])


def test_elements_of_datasets_are_compared_in_both_modes():
    result = _DatasetTest().run()
    assert not result.failures + result.errors, result.failures + result.errors
    dataset = tf.data.Dataset.range(3)
    assert dataset._variant_tensor.dtype == tf.variant


def test_what_a_model_gives_is_named_and_checked():
    outputs = tf.python.saved_model.model_utils.export_output
    loss, words = tf.constant([0.0]), tf.constant(["foo"])
    mean, update = tf.metrics.mean(tf.constant([0.0]))
    given = outputs.EvalOutput(
        {"my_loss": loss},
        {("out", "1"): words},
        {"metrics": (mean, update), ("other", "2"): (loss, tf.group(update))},
    )
    assert given.loss == {"loss/my_loss": loss}
    assert given.predictions == {"predictions/out/1": words}
    assert list(given.metrics) == [
        *("metrics/value", "metrics/update_op"),
        *("metrics/other/2/value", "metrics/other/2/update_op"),
    ]
    signature = given.as_signature_def({"x": words})
    assert signature.outputs["metrics/update_op"].name == update.name
    alone = outputs.TrainOutput(loss, words, None)
    assert (alone.loss, alone.predictions, alone.metrics) == (
        {"loss": loss},
        {"predictions": words},
        None,
    )
    sparse = tf.SparseTensor([[0, 0]], [1], [1, 1])
    for wrong, text in (
        (lambda: outputs.TrainOutput("loss"), "loss output value must"),
        (lambda: outputs.TrainOutput({25: loss}), "loss output key must"),
        (lambda: outputs.TrainOutput(loss, [3]), "predictions output value must"),
        (lambda: outputs.TrainOutput(None, None, (15.3, 4)), "metrics output value must"),
        (lambda: outputs.PredictOutput({1: loss}), "Prediction output key must be a string"),
        (lambda: outputs.PredictOutput({"a": sparse}), "Prediction output value must be a Tensor"),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()


def test_a_scope_of_a_graph_goes_into_another_graph():
    meta_graph = tf.python.framework.meta_graph
    with tf.name_scope("outer"):
        variable = tf.Variable(3.0, name="v")
        tf.summary.scalar("inner", variable * 2.0)
    tf.Variable(1.0, name="elsewhere")
    proto, variables = meta_graph.export_scoped_meta_graph(export_scope="outer")
    assert variables == {"v": variable}
    graph = tf.Graph()
    found = meta_graph.import_scoped_meta_graph(proto, graph=graph, import_scope="new")
    assert {name: v.op.name for name, v in found.items()} == {"v": "new/v"}
    with tf.Session(graph=graph) as sess:
        sess.run(found["v"].initializer)
        summary = to_summary_proto(sess.run("new/inner:0"))
    assert (summary.value[0].tag, summary.value[0].simple_value) == ("outer/inner", 6.0)


def test_a_sound_of_a_rate_below_a_half_is_written():
    sound = np.linspace(-1, 1, 12).reshape(1, 6, 2).astype("float32")
    with tf.Session() as sess:
        slow, slower = (
            to_summary_proto(sess.run(tf.summary.audio(name, sound, rate)))
            for name, rate in (("a", 1.0), ("b", 0.2))
        )
    first, second = (s.value[0].audio.encoded_audio_string for s in (slow, slower))
    assert first[24:32] == (1).to_bytes(4, "little") + (4).to_bytes(4, "little")
    assert second[24:32] == bytes(8)
    assert first[:24] + first[32:] == second[:24] + second[32:]


def test_probabilities_above_1_are_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match="components greater than 1"):
        tf.contrib.distributions.RelaxedBernoulli(1.0, probs=1.01, validate_args=True)
