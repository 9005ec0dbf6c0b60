"""Runs under either engine: writes checkpoints, or reports what it finds in the other's.

python checkpoint_program.py write|read dataflow|tensorflow FOLDER     (JSON on standard output)
"""

from __future__ import annotations

import hashlib
import json
import os
import sys

import numpy as np


def engine(name):
    if name == "dataflow":
        import dataflow as tf

        tf.config.experimental.set_checkpoint_format("tensorflow")
    else:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        if not tf.__version__.startswith("1."):
            tf = tf.compat.v1
            tf.disable_v2_behavior()
            tf.disable_resource_variables()
        tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16")
TEXTS = np.array([[b"", b"a\0b"], ["clich\u00e9".encode(), b"x" * 300]], object)


def dtypes(tf, fill):
    """Every dtype, scalars, texts, something empty, and enough names for several restarts."""
    for name in FLOATS + INTEGERS:
        array = (np.arange(6).reshape(2, 3) * fill).astype(name)
        tf.get_variable(name, initializer=array)
        tf.get_variable(name + "_resource", initializer=array, use_resource=True)
    tf.get_variable("bool", initializer=np.array([fill > 0, False]))
    tf.get_variable("bfloat16", initializer=tf.cast([1.5 * fill, 3.140625], tf.bfloat16))
    tf.get_variable("texts", initializer=TEXTS if fill else np.full((2, 2), b"", object))
    tf.get_variable("text", initializer=tf.constant(b"one" if fill else b""))
    tf.get_variable("scope/scalar", initializer=np.float32(7 * fill))
    tf.get_variable("empty", initializer=np.zeros((0, 4), np.float32))
    for i in range(60):
        tf.get_variable(f"many/layer_{i}/weights", initializer=np.int64(i * fill))


def parts(number):
    """Variables in ``number`` parts, along each axis, of numbers and of texts."""

    def build(tf, fill):
        for axis, shape in ((0, (130, 2)), (1, (2, 7)), (0, (3,))):
            whole = np.arange(np.prod(shape)).reshape(shape) * fill
            for dtype in ("float32", "int32"):
                array = whole.astype(dtype)

                def part(shape, dtype=None, partition_info=None, array=array):
                    starts = partition_info.var_offset if partition_info else [0] * len(shape)
                    return array[tuple(map(slice, starts, np.add(starts, shape)))]

                partitioner = tf.fixed_size_partitioner(number, axis) if number > 1 else None
                tf.get_variable(
                    f"{dtype}_{axis}_{shape[0]}",
                    shape,
                    dtype=dtype,
                    initializer=part,
                    partitioner=partitioner,
                )

    return build


def whole_arrays(tf, fill):
    """`parts`, each in one piece, whose names and values are theirs."""
    parts(1)(tf, fill)


def table(tf, fill):
    """A hash table, which savers save by keys and values, and a variable that a program put there."""
    if hasattr(tf, "contrib"):
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="table")
    else:
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="table")
    words = tf.constant([b"a", b"b", b"c"])
    if fill:
        update = table.insert(words, tf.constant([1, 2, 3], tf.int64))
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, update)
    tf.get_variable("found", initializer=np.zeros(3, np.int64), use_resource=True)
    tf.add_to_collection("look up", table.lookup(words))


GRAPHS = {"dtypes": dtypes, "parts": parts(3), "table": table}
#: What is restored from which checkpoint: a graph may divide its variables otherwise.
READ = {
    "dtypes": ("dtypes", dtypes),
    "table": ("table", table),
    "parts": ("parts", parts(3)),
    "other parts": ("parts", parts(2)),
    "whole": ("parts", whole_arrays),
    "shards": ("shards", parts(3)),
    "shards, other parts": ("shards", parts(2)),
}


def write(tf, folder):
    report = {}
    for name, build in GRAPHS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            build(tf, 1)
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            tf.train.Saver().save(session, os.path.join(folder, name))
            report[name] = values(tf, session)
    with tf.Graph().as_default(), tf.Session() as session:
        parts(3)(tf, 1)
        session.run(tf.global_variables_initializer())
        session.run(in_shards(tf, os.path.join(folder, "shards")))
    report["keras"] = write_keras(tf, folder)
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = objects(tf, 1.0)
        session.run(tf.global_variables_initializer())
        checkpoint.save(os.path.join(folder, "objects"), session=session)
    return report


def trained(tf, fill, steps):
    """A model of tf.keras that made ``steps`` steps, or is about to."""
    keras = tf.keras
    start = tf.constant_initializer(fill)
    layers = [
        keras.layers.Dense(3, "tanh", kernel_initializer=start, input_shape=(2,), name="inner"),
        keras.layers.BatchNormalization(name="norm"),
        keras.layers.Dense(1, kernel_initializer=start, name="outer"),
    ]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.25, beta_1=0.5, decay=0.125), "mse")
    for _ in range(steps):
        model.train_on_batch(np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([[1.0], [-2.0]]))
    return model


def keras_values(model):
    arrays = [*model.get_weights(), *model.optimizer.get_weights()]
    return [[round(float(x), 3) for x in np.ravel(a)] for a in arrays]


def write_keras(tf, folder):
    with tf.Graph().as_default(), tf.Session().as_default() as session:
        tf.keras.backend.set_session(session)
        model = trained(tf, 0.5, 3)
        model.save_weights(os.path.join(folder, "keras_weights"), save_format="tf")
        tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(
            os.path.join(folder, "keras_objects"), session=session
        )
        tf.train.Saver(name="own").save(session, os.path.join(folder, "keras_names"))
        before = keras_values(model)
        model.train_on_batch(np.array([[1.0, 2.0]]), np.array([[1.0]]))
        return before, keras_values(model)


def read_keras(tf, folder):
    """The values in each of `write_keras`'s files, and after one more step."""
    report = {}
    for name, steps in (("keras_weights", 0), ("keras_objects-1", 1), ("keras_names", 1)):
        with tf.Graph().as_default(), tf.Session().as_default() as session:
            tf.keras.backend.set_session(session)
            model = trained(tf, 0.0, steps)
            path = os.path.join(folder, name)
            if name == "keras_weights":
                model.load_weights(path)
            elif name == "keras_names":
                tf.train.Saver(name="own").restore(session, path)
            else:
                checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
                checkpoint.restore(path).assert_consumed().run_restore_ops(session)
            before = keras_values(model) if steps else None
            model.train_on_batch(np.array([[1.0, 2.0]]), np.array([[1.0]]))
            report[name] = [before, keras_values(model)]
            listed = tf.train.list_variables(path)
            report[name + ": list"] = sorted([n, list(shape)] for n, shape in listed)
    return report


def in_shards(tf, prefix):
    """The ops of a sharded saver: three files, each with one part of every variable."""
    prefixes, saves = [], []
    for shard in range(3):
        name = tf.raw_ops.ShardedFilename(basename=prefix + "_temp/part", shard=shard, num_shards=3)
        variables = [v for v in tf.global_variables() if v.op.name.endswith(f"part_{shard}")]
        infos = [v._get_save_slice_info() for v in variables]
        prefixes.append(name)
        save = tf.raw_ops.SaveV2(
            prefix=name,
            tensor_names=[info.full_name for info in infos],
            shape_and_slices=[info.spec for info in infos],
            tensors=[v.value() for v in variables],
        )
        saves.append(save)
    with tf.control_dependencies(saves):
        return tf.raw_ops.MergeV2Checkpoints(
            checkpoint_prefixes=tf.stack(prefixes), destination_prefix=prefix
        )


def objects(tf, value):
    layer = tf.keras.layers.Dense(3, kernel_initializer=tf.constant_initializer(value))
    layer.build((None, 2))
    return tf.train.Checkpoint(
        layer=layer,
        step=tf.Variable(np.int64(5 * value), name="step"),
        part=tf.train.Checkpoint(b=tf.Variable([2.0 * value, 3.0], name="b")),
    )


def read(tf, folder):
    report = {"files": sorted(os.listdir(folder))}
    for name, (checkpoint, build) in READ.items():
        with tf.Graph().as_default(), tf.Session() as session:
            build(tf, 0)
            prefix = os.path.join(folder, checkpoint)
            tf.train.Saver().restore(session, prefix)
            report[name] = values(tf, session)
            shapes = [[n, list(shape)] for n, shape in tf.train.list_variables(prefix)]
            report[name + ": list"] = sorted(shapes)
    reader = tf.train.load_checkpoint(os.path.join(folder, "shards"))
    report["whole of shards"] = described(reader.get_tensor("float32_0_130"))
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = objects(tf, 0.0)
        path = tf.train.latest_checkpoint(folder)
        status = checkpoint.restore(path).assert_consumed()
        status.run_restore_ops(session)
        report["objects"] = [os.path.basename(path), values(tf, session)]
    report["keras"] = read_keras(tf, folder)
    return report


def values(tf, session):
    variables = {v.op.name: v for v in tf.global_variables()}
    arrays = session.run(
        {n: tf.cast(v, tf.float32) if n == "bfloat16" else v for n, v in variables.items()}
    )
    for tensor in tf.get_collection("look up"):
        arrays["table"] = session.run(tensor)
    return {name: described(array) for name, array in arrays.items()}


def described(array):
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return [list(array.shape), [text.hex() for text in array.reshape(-1).tolist()]]
    return [list(array.shape), array.dtype.name, hashlib.sha1(array.tobytes()).hexdigest()]


if __name__ == "__main__":
    what, name, where = sys.argv[1:]
    module = engine(name)
    print(json.dumps((write if what == "write" else read)(module, where)))
