"""What is model and what is machinery, in graphs as learners write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dataflow as tf
from dataflow.introspect.graph_json import graph_to_dict
from dataflow.introspect.node_roles import ROLES, assign_roles


def _nodes(build: Callable[[], Any]) -> dict[str, dict[str, Any]]:
    with tf.Graph().as_default() as graph:
        build()
        nodes = graph_to_dict(graph)["nodes"]
    assign_roles(nodes)
    return {node["name"]: node for node in nodes}


def _model(nodes: dict[str, dict[str, Any]]) -> list[str]:
    return [name for name, node in nodes.items() if "role" not in node and "owner" not in node]


def _network() -> tf.Tensor:
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.layers.dense(x, 2, tf.nn.relu, name="dense")
    return tf.reduce_mean(tf.square(y), name="loss")


_MODEL = [
    *("x", "dense/kernel", "dense/bias", "dense/MatMul", "dense/BiasAdd", "dense/Relu"),
    *("Square", "loss"),
]


def test_a_network_is_its_ops_and_variables() -> None:
    nodes = _nodes(_network)
    assert _model(nodes) == _MODEL
    assert nodes["dense/kernel/read"] == nodes["dense/kernel/read"] | {"owner": "dense/kernel"}
    assert nodes["dense/kernel/Assign"]["role"] == "initializer"
    assert nodes["dense/kernel/Assign"]["owner"] == "dense/kernel"
    initial = [n for name, n in nodes.items() if name.startswith("dense/kernel/Initializer/")]
    assert initial
    assert {(n["role"], n["owner"]) for n in initial} == {("initializer", "dense/kernel")}
    assert [n["owner"] for n in nodes.values() if n["op"] == "Const" and "role" not in n] == [
        "loss"
    ]


@pytest.mark.parametrize(
    "optimizer",
    [
        tf.train.GradientDescentOptimizer(0.1),
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.AdamOptimizer(),
        tf.train.RMSPropOptimizer(0.1, centered=True),
        tf.train.FtrlOptimizer(0.1),
        tf.train.AdadeltaOptimizer(),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_training_adds_nothing_to_the_model(optimizer: tf.train.Optimizer) -> None:
    def build() -> None:
        loss = _network()
        step = tf.train.get_or_create_global_step()
        optimizer.minimize(loss, step)
        tf.global_variables_initializer()
        tf.train.Saver()
        tf.summary.scalar("the_loss", loss)
        tf.summary.merge_all()

    nodes = _nodes(build)
    assert _model(nodes) == _MODEL
    assert {n["role"] for n in nodes.values() if "role" in n} == set(ROLES) - {"assertion"}
    assert nodes["global_step"]["role"] == "optimizer"
    assert nodes["init"]["role"] == "initializer"
    assert nodes["save/restore_all"]["role"] == "saver"


def test_sparse_updates_clipping_and_a_decaying_rate_are_machinery() -> None:
    def build() -> None:
        table = tf.get_variable("table", [10, 4])
        ids = tf.placeholder(tf.int32, [None], name="ids")
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids), name="loss")
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.1, step, 100, 0.5)
        optimizer = tf.train.AdamOptimizer(rate)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(clipped, variables, strict=True), step)

    nodes = _nodes(build)
    assert _model(nodes) == ["table", "ids", "embedding_lookup", "loss"]
    assert nodes["clip_by_global_norm/mul"]["role"] == "gradient"
    assert nodes["ExponentialDecay"]["role"] == "optimizer"


def test_a_loss_that_is_only_looked_at_stays_in_the_model() -> None:
    def build() -> None:
        tf.summary.scalar("mean", tf.reduce_mean(_network(), name="watched"))

    assert "watched" in _model(_nodes(build))


def test_what_makes_workers_step_together_is_the_optimizers() -> None:
    def build() -> None:
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(), 2)
        optimizer.minimize(_network(), tf.train.get_or_create_global_step())

    nodes = _nodes(build)
    assert _model(nodes) == _MODEL
    for name in ("sync_token_q", "sync_rep_local_step", "dummy_queue", "global_step", "NoOp"):
        assert nodes[name]["role"] == "optimizer"


def test_a_report_of_what_has_no_value_yet_is_no_part_of_the_model() -> None:
    nodes = _nodes(lambda: (_network(), tf.report_uninitialized_variables()))
    assert _model(nodes) == _MODEL


def test_queues_of_data_stay_in_the_model() -> None:
    def build() -> None:
        queue = tf.FIFOQueue(10, [tf.float32], shapes=[[2, 4]], name="batches")
        queue.enqueue([tf.ones([2, 4])], name="put")
        queue.close(name="end")
        y = tf.layers.dense(queue.dequeue(name="take"), 2, name="dense")
        tf.train.AdamOptimizer().minimize(tf.reduce_mean(y, name="loss"))

    model = _model(_nodes(build))
    assert {"batches", "put", "take", "end", "dense/MatMul", "loss"} <= set(model)


def test_a_variable_of_the_model_may_be_set_by_hand() -> None:
    def build() -> None:
        y = _network()
        shown = tf.Variable(0.0, name="shown")
        shown.assign(y, name="show")
        tf.train.AdamOptimizer().minimize(y)

    assert {"shown", "show"} <= set(_model(_nodes(build)))


def test_assertions_with_what_only_they_read() -> None:
    def build() -> None:
        x = tf.placeholder(tf.float32, [3], name="x")
        with tf.control_dependencies([tf.assert_positive(x)]):
            tf.identity(x, name="y")

    nodes = _nodes(build)
    assert _model(nodes) == ["x", "y"]
    assert {n["role"] for n in nodes.values() if "role" in n} == {"assertion"}


def test_what_a_learner_assigns_is_no_initializer() -> None:
    def build() -> None:
        count = tf.Variable(0.0, name="count")
        tf.assign(count, count + 1.0, name="step")

    assert _model(_nodes(build)) == ["count", "add/y", "add", "step"]


def test_a_variable_that_becomes_a_slot_later_is_reported_as_changed() -> None:
    with tf.Graph().as_default() as graph:
        loss = _network()
        nodes = graph_to_dict(graph)["nodes"]
        assert assign_roles(nodes)
        assert assign_roles(nodes) == []
        known = len(nodes)
        tf.train.AdamOptimizer().minimize(loss)
        nodes += graph_to_dict(graph, since=known)["nodes"]
    changed = assign_roles(nodes)
    assert all(i >= known for i in changed)
    assert [n["name"] for n in nodes if "role" not in n and "owner" not in n] == _MODEL


def test_nodes_of_another_program_have_roles_too() -> None:
    nodes = [
        {"name": "a", "op": "NeverHeardOf", "inputs": [], "outputs": []},
        {"name": "b", "op": "AlsoNot", "inputs": ["a:0", "gone:1", "^a"], "outputs": []},
    ]
    assert assign_roles(nodes) == []


def test_a_function_that_saves_is_no_part_of_the_model() -> None:
    """As SavedModels of TensorFlow 2 have one."""

    def build() -> None:
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
        tf.identity(v, name="model")
        prefix = tf.placeholder_with_default("model.ckpt", [], name="prefix")
        tf.raw_ops.DisableCopyOnRead(resource=v.handle, name="said")
        saved = tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=["v"], shape_and_slices=[""], tensors=[v.read_value()]
        )
        with tf.control_dependencies([saved]):
            name = tf.identity(prefix, name="Identity")
        tf.identity_n([name], name="result")

    nodes = _nodes(build)
    assert {"said", "Identity", "result"} <= {n for n in nodes if nodes[n].get("role") == "saver"}
    assert _model(nodes) == ["v", "model/ReadVariableOp", "model"]


def test_keras_sparse_adam_is_no_part_of_the_model() -> None:
    def build() -> None:
        x = tf.keras.layers.Input((5,), name="x", dtype="int32")
        rows = tf.keras.layers.Embedding(50, 4, name="rows")(x)
        out = tf.keras.layers.Dense(1, name="out")(tf.keras.layers.Flatten(name="flat")(rows))
        model = tf.keras.Model(x, out)
        model.compile("adam", "mse")
        model._make_train_function()

    nodes = _nodes(build)
    model = _model(nodes)
    assert {"rows/embeddings", "flat/Reshape", "out/kernel", "out/MatMul"} <= set(model)
    assert [name for name in model if name.startswith("training")] == []
    assert nodes["training/Adam/learning_rate"]["role"] == "optimizer"


def test_what_keras_sets_its_metrics_by_is_no_part_of_the_model() -> None:
    def build() -> None:
        layers = [tf.keras.layers.Dense(3, activation="softmax", input_shape=(4,), name="out")]
        model = tf.keras.Sequential(layers)
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model._make_train_function()
        for metric in model.metrics:
            metric.reset_states()
        # A learner's own setter has a name, or is of a variable that is no resource.
        w = tf.Variable(0.0, name="w")
        w.assign(tf.placeholder(tf.float32, [], name="fed"), name="set")

    nodes = _nodes(build)
    model = set(_model(nodes))
    setters = {
        n for n in nodes if n.startswith(("AssignVariableOp", "Placeholder", "ReadVariableOp"))
    }
    assert len(setters) >= 6 and not setters & model
    assert {"total", "count", "metrics/acc/Equal", "w", "fed", "set"} <= model


def test_a_group_of_groups_of_nothing_is_what_a_session_begins_with() -> None:
    """`MonitoredTrainingSession` groups the local initializers of a graph without local variables."""

    def build() -> None:
        tf.no_op(name="of_a_learner")
        tf.get_variable("w", [2])
        tf.train.get_or_create_global_step()
        tf.train.MonitoredTrainingSession().close()

    nodes = _nodes(build)
    assert [n for n, node in nodes.items() if node["op"] == "NoOp" and "role" not in node] == [
        "of_a_learner"
    ]


def test_groups_of_nothing_and_tables_begin_with_the_variables() -> None:
    def build() -> None:
        keys = tf.constant(["a", "b"], name="keys")
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2], tf.int64)), -1
        )
        data = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensors(["b"]))
        found = table.lookup(data.get_next())
        weight = tf.get_variable("weight", [])
        tf.multiply(weight, tf.cast(found, tf.float32), name="loss")
        init = tf.global_variables_initializer()
        local = tf.local_variables_initializer()  # there are none
        tf.group(init, local, tf.tables_initializer(), data.initializer, name="all")
        tf.no_op("mine")

    nodes = _nodes(build)
    assert nodes["all"]["role"] == nodes["keys"]["role"] == "initializer"
    assert [n for n, node in nodes.items() if node["op"] == "NoOp" and "role" not in node] == [
        "mine"
    ]
    assert "MakeIterator" in [nodes[name]["op"] for name in _model(nodes)]


def test_a_variable_that_nobody_reads_is_what_stands_beside_it() -> None:
    def build() -> None:
        _network()
        tf.Variable(1.0, name="spare")
        with tf.name_scope("mine"):
            tf.Variable(2.0, name="spare")

    nodes = _nodes(build)
    assert {"spare", "mine/spare"} <= set(_model(nodes))
