"""`tf.distribute`: replicas on several devices step as one; values are those of TensorFlow 1.15.5."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.distribute.values import PerReplica
from dataflow.python.eager.context import eager_mode

CONFIG = tf.ConfigProto(device_count={"CPU": 2})
CPUS = ["/cpu:0", "/cpu:1"]


pytestmark = pytest.mark.usefixtures("graph")


def session() -> Any:
    made = tf.Session(config=CONFIG)
    made.run(tf.global_variables_initializer())
    return made


def test_variables_have_a_copy_on_each_device_and_stand_once_in_collections() -> None:
    with tf.distribute.MirroredStrategy(CPUS).scope():
        v = tf.get_variable("v", (2,), initializer=tf.random_normal_initializer())
        w = tf.Variable(3.0, trainable=False)
    assert isinstance(v, tf.Variable) and [c.op.name for c in v.values] == ["v", "v/replica_1"]
    assert [c.device for c in v.values] == ["/device:CPU:0", "/device:CPU:1"]
    assert tf.global_variables() == [v, w] and tf.trainable_variables() == [v]
    with session() as s:
        first, second = s.run(list(v.values))
        np.testing.assert_array_equal(first, second)
        s.run(v.assign([5.0, 6.0]))
        np.testing.assert_array_equal(s.run(list(v.values)), [[5, 6], [5, 6]])
        v.load([1.0, 2.0], s)
        np.testing.assert_array_equal(s.run([v.values[1], v + 1.0]), [[1, 2], [2, 3]])


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.AdamOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    ],
)
def test_replicas_step_as_one_device_with_the_whole_batch(make: Any) -> None:
    x = np.arange(16, dtype=np.float32).reshape(8, 2) / 16

    def loss_of(features: Any, w: Any) -> Any:
        hidden = tf.layers.dense(features, 2, kernel_initializer=tf.ones_initializer())
        return tf.reduce_sum((tf.matmul(hidden, w) - 1.0) ** 2) / 4

    def trained(strategy: Any) -> Any:
        with tf.Graph().as_default(), strategy.scope():
            w = tf.Variable([[1.0], [2.0]])
            optimizer = make()
            data = tf.data.Dataset.from_tensor_slices(x).batch(4).repeat()
            iterator = strategy.make_dataset_iterator(data)

            def step(features: Any) -> Any:
                loss = loss_of(features, w)
                return loss, optimizer.minimize(loss)

            losses, op = strategy.experimental_run(step, iterator)
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)
            with session() as s:
                s.run(iterator.initialize())
                seen = [s.run([total, op])[0] for _ in range(3)]
                return seen, s.run(tf.trainable_variables())

    one, several = (
        trained(tf.distribute.OneDeviceStrategy("/cpu:0")),
        trained(tf.distribute.MirroredStrategy(CPUS)),
    )
    np.testing.assert_allclose(one[0], several[0], rtol=1e-5)
    for a, b in zip(one[1], several[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_replica_context_merges_and_reduces() -> None:
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        mean = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
        none = tf.Variable(1.0)
        counted = tf.Variable(
            0.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def build(x: Any) -> Any:
        context = tf.distribute.get_replica_context()
        assert not tf.distribute.in_cross_replica_context()
        with pytest.raises(ValueError, match="aggregation"):
            none.assign_add(x)
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, x)
        return (
            context.replica_id_in_sync_group,
            total,
            mean.assign_add(x),
            counted.assign_add(x),
        )

    data = tf.data.Dataset.from_tensor_slices([1.0, 2.0])
    iterator = strategy.make_input_fn_iterator(lambda context: data)
    results = strategy.experimental_run(build, iterator)
    with session() as s:
        s.run(iterator.initialize())
        ran = s.run([strategy.experimental_local_results(r) for r in results])
        assert [list(r) for r in ran[:2]] == [[0, 1], [3, 3]]
        assert s.run(list(mean.values)) == [2.5, 2.5]
        assert s.run(list(counted.values)) == [1, 2]
        assert s.run(counted.read_value()) == 3


def test_contexts() -> None:
    distribute, strategy = tf.distribute, tf.distribute.MirroredStrategy(CPUS)
    assert not distribute.has_strategy() and distribute.get_strategy().num_replicas_in_sync == 1
    assert distribute.get_replica_context() is not None
    with strategy.scope():
        assert distribute.get_strategy() is strategy and distribute.in_cross_replica_context()
        assert distribute.get_replica_context() is None
        with pytest.raises(RuntimeError, match="Mixing"):
            distribute.OneDeviceStrategy("/cpu:0").scope().__enter__()
    assert not distribute.has_strategy()
    distribute.experimental_set_strategy(strategy)
    assert distribute.get_strategy() is strategy
    distribute.experimental_set_strategy(None)
    assert not distribute.has_strategy()


def test_reduce_over_an_axis_weighs_by_rows() -> None:
    strategy = tf.distribute.MirroredStrategy(CPUS)
    value = PerReplica([tf.constant([1.0, 2.0]), tf.constant([6.0])])
    with tf.Session(config=CONFIG) as s:
        assert s.run(strategy.reduce("MEAN", value, axis=0)) == 3
        assert s.run(strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=0)) == 9
    with pytest.raises(ValueError, match="ReduceOp"):
        strategy.reduce("product", value)


def test_a_batch_that_does_not_divide_is_cut() -> None:
    strategy = tf.distribute.MirroredStrategy(CPUS)
    data = tf.data.Dataset.from_tensor_slices({"x": [1, 2, 3]}).batch(3)
    batch = strategy.experimental_distribute_dataset(data).make_one_shot_iterator().get_next()
    with tf.Session(config=CONFIG) as s:
        parts = s.run(list(strategy.experimental_local_results(batch["x"])))
    assert [p.tolist() for p in parts] == [[1, 2], [3]]


def test_errors_end_all_threads() -> None:
    strategy = tf.distribute.MirroredStrategy(CPUS)

    def wrong() -> None:
        tf.distribute.get_replica_context().merge_call(lambda s: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        strategy.experimental_run_v2(wrong)

    def uneven() -> None:
        context = tf.distribute.get_replica_context()
        if context.index:
            context.merge_call(lambda s: None)

    with pytest.raises(RuntimeError, match="merge_call"):
        strategy.experimental_run_v2(uneven)

    def other() -> None:
        if tf.distribute.get_replica_context().index:
            tf.Variable(1.0, name="second_only")

    with pytest.raises(RuntimeError, match="second_only"):
        strategy.experimental_run_v2(other)
    assert not [t for t in threading.enumerate() if t.name.startswith("replica ")]


def test_central_storage_has_one_variable_and_one_step() -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy(CPUS, "/cpu:0")
    with strategy.scope():
        v = tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    op = strategy.experimental_run_v2(lambda: optimizer.minimize(2.0 * v))
    with session() as s:
        assert not hasattr(v, "copies") and strategy.num_replicas_in_sync == 2
        s.run(op)
        assert s.run(v) == -1


def test_checkpoints_hold_a_mirrored_variable_once(tmp_path: Path) -> None:
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
    optimizer = tf.train.AdamOptimizer(0.5)
    op = strategy.experimental_run_v2(lambda: optimizer.minimize(v * v))
    with session() as s:
        s.run(op)
        saved = s.run(v)
        saver = tf.train.Saver()
        path = saver.save(s, str(tmp_path / "m"))
        names = [name for name, _ in tf.train.list_variables(path)]
        assert names == ["beta1_power", "beta2_power", "v", "v/Adam", "v/Adam_1"]
        placed = tf.train.Checkpoint(v=v).save(tmp_path / "o", session=s)
        for restore in (
            lambda: saver.restore(s, path),
            lambda: tf.train.Checkpoint(v=v).restore(placed).run_restore_ops(s),
        ):
            s.run(tf.global_variables_initializer())
            restore()
            assert s.run(list(v.values)) == [saved, saved]


def test_refused() -> None:
    with pytest.raises(ValueError, match="unique"):
        tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:0"])
    with pytest.raises(NotImplementedError, match="TPU"):
        tf.distribute.experimental.TPUStrategy()
    with pytest.raises(ValueError, match="not divisible"):
        tf.distribute.InputContext(1, 0, 3).get_per_replica_batch_size(4)
    with pytest.raises(ValueError, match="train_distribute"):
        tf.estimator.RunConfig(train_distribute="mirrored")


def test_keras_under_a_scope() -> None:
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 24
    y = x.sum(1, keepdims=True) * 2 + 1
    layers = tf.keras.layers
    with tf.distribute.MirroredStrategy(CPUS).scope():
        constant = tf.keras.initializers.Constant(0.2)
        model = tf.keras.Sequential(
            [
                layers.Dense(4, "relu", input_shape=(3,), kernel_initializer=constant),
                layers.Dense(1, kernel_initializer="ones"),
            ]
        )
        model.compile(tf.keras.optimizers.SGD(0.02), "mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=4, epochs=3, verbose=0, shuffle=False).history
    np.testing.assert_allclose(history["loss"], [6.5885, 0.86403, 0.1417], rtol=2e-4)
    np.testing.assert_allclose(model.evaluate(x, y, 4, verbose=0), [0.07785, 0.23537], rtol=1e-3)
    kernel = model.layers[0].kernel
    first, second = tf.keras.backend.get_session().run(list(kernel.values))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, np.full((3, 4), np.float32(0.2)))


def test_resolvers(monkeypatch: pytest.MonkeyPatch) -> None:
    resolvers = tf.distribute.cluster_resolver
    config = {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    found = resolvers.TFConfigClusterResolver()
    assert (found.master(), found.task_type, found.task_id) == ("b:2", "worker", 1)
    assert found.master("worker", 0) == "a:1" and found.rpc_layer is None
    monkeypatch.setenv("TF_CONFIG", json.dumps({**config, "rpc_layer": "grpc"}))  # read anew
    assert found.master() == "grpc://b:2" and found.rpc_layer == "grpc"
    found.task_id, found.rpc_layer = 0, "test"
    assert found.master() == "test://a:1"
    monkeypatch.setenv("TF_CONFIG", json.dumps({**config, "session_master": "c:3"}))
    assert found.master() == "c:3"
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1"]}}')
    assert found.master() == "" and resolvers.TFConfigClusterResolver().task_id is None
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(NotImplementedError, match="all-reduce"):
        tf.distribute.experimental.MultiWorkerMirroredStrategy()
    with pytest.raises(AttributeError, match="SimpleClusterResolver"):
        _ = resolvers.GCEClusterResolver


def test_resolvers_of_given_clusters() -> None:
    resolvers, spec = tf.distribute.cluster_resolver, tf.train.ClusterSpec
    one = resolvers.SimpleClusterResolver(
        spec({"ps": ["c:3"], "worker": ["a:1"]}), master="m:0", task_type="ps", task_id=0
    )
    assert one.master() == "m:0" and one.master("ps", 0, rpc_layer="grpc") == "grpc://c:3"
    assert one.num_accelerators() == {} and one.environment == ""
    two = resolvers.SimpleClusterResolver(
        spec({"worker": ["b:2"]}), num_accelerators={"GPU": 2}, rpc_layer="grpc"
    )
    union = resolvers.UnionResolver(one, two)
    assert union.cluster_spec().as_dict() == {"ps": ["c:3"], "worker": ["a:1", "b:2"]}
    assert (union.master(), union.master("worker", 1)) == ("m:0", "b:2")
    assert (union.task_type, union.task_id, union.rpc_layer) == ("ps", 0, None)
    assert union.num_accelerators() == {}  # the first resolver's
    sparse = resolvers.SimpleClusterResolver(spec({"worker": {2: "d:4"}}))
    numbered = resolvers.UnionResolver(one, sparse).cluster_spec()
    assert numbered.task_address("worker", 2) == "d:4" and numbered.num_tasks("worker") == 2
    twice = resolvers.UnionResolver(sparse, sparse)
    with pytest.raises(KeyError, match="Duplicate"):
        twice.cluster_spec()
    with pytest.raises(TypeError, match="master"):
        resolvers.SimpleClusterResolver(spec({}), master=1)
    with pytest.raises(ValueError):
        resolvers.UnionResolver()
    with pytest.raises(TypeError):
        resolvers.UnionResolver(spec({}))


def test_a_resolver_counts_the_devices_of_a_session() -> None:
    class Local(tf.distribute.cluster_resolver.ClusterResolver):
        def cluster_spec(self) -> Any:
            return tf.train.ClusterSpec({})

        def master(self, *args: Any, **kwargs: Any) -> str:
            return ""

    assert Local().num_accelerators()["CPU"] == 1
    assert Local().num_accelerators("localhost", 0)["CPU"] == 1
    assert Local().num_accelerators("worker", 0) == {}
    with eager_mode():
        assert Local().num_accelerators() == {}  # those of eager code, without the CPU
