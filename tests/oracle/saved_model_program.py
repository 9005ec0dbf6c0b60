"""Runs under either engine: writes SavedModels in each way that there is, or runs the other's.

python saved_model_program.py write|run dataflow|tensorflow FOLDER     (JSON on standard output)

dataflow writes as a program does that says nothing about the format of checkpoints.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np

X = np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]], np.float32)


def engine(name):
    if name == "dataflow":
        import dataflow as tf
    else:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        if not tf.__version__.startswith("1."):
            tf = tf.compat.v1
            tf.disable_v2_behavior()
            tf.disable_resource_variables()
        tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def network(tf):
    x = tf.placeholder(tf.float32, [None, 2], "x")
    partitioner = tf.fixed_size_partitioner(2)
    start = tf.constant_initializer(0.25)
    w = tf.get_variable("w", [2, 3], initializer=start, partitioner=partitioner)
    b = tf.get_variable("b", initializer=np.array([1.0, 2.0, 3.0], "float32"), use_resource=True)
    words = tf.get_variable("words", initializer=np.array([b"a", b"bc"], object), dtype=tf.string)
    y = tf.nn.relu(tf.matmul(x, tf.convert_to_tensor(w)) + b)
    return x, {"y": y, "words": words + ""}


def simple(tf, folder):
    with tf.Graph().as_default(), tf.Session() as session:
        x, outputs = network(tf)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, folder, {"x": x}, outputs)


def builder(tf, folder):
    with tf.Graph().as_default(), tf.Session() as session:
        x, outputs = network(tf)
        session.run(tf.global_variables_initializer())
        made = tf.saved_model.builder.SavedModelBuilder(folder)
        utils = tf.saved_model.signature_def_utils
        signature = utils.predict_signature_def({"x": x}, outputs)
        made.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        made.add_meta_graph(["other"], {"serving_default": signature})
        made.save()


def estimator(tf, folder):
    def model_fn(features, labels, mode):
        y = tf.layers.dense(features["x"], 2, kernel_initializer=tf.constant_initializer(0.5))
        predictions = {"y": y}
        if mode == tf.estimator.ModeKeys.PREDICT:
            output = tf.estimator.export.PredictOutput(predictions)
            return tf.estimator.EstimatorSpec(
                mode, predictions=predictions, export_outputs={"serving_default": output}
            )
        loss = tf.reduce_mean(tf.square(y - 1.0))
        step = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    made = tf.estimator.Estimator(model_fn, model_dir=folder + "_model")
    made.train(lambda: tf.data.Dataset.from_tensors({"x": X}).repeat(), steps=3)

    def receiver():
        x = tf.placeholder(tf.float32, [None, 2], "x")
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    os.rename(made.export_saved_model(folder + "_exports", receiver), folder)


def keras(tf, folder):
    tf.keras.backend.clear_session()
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(3, "tanh", input_shape=(2,)), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(X, X[:, :1], epochs=2, verbose=0)
    if hasattr(tf.keras.experimental, "export_saved_model"):
        tf.keras.experimental.export_saved_model(model, folder)
    else:
        session = tf.keras.backend.get_session()
        inputs, outputs = {"x": model.inputs[0]}, {"y": model.outputs[0]}
        tf.saved_model.simple_save(session, folder, inputs, outputs)


MODELS = {"simple": simple, "builder": builder, "estimator": estimator, "keras": keras}


def run(tf, folder):
    report = {}
    for name in MODELS:
        where = os.path.join(folder, name)
        with tf.Graph().as_default(), tf.Session() as session:
            meta = tf.saved_model.loader.load(session, ["serve"], where)
            signature = meta.signature_def["serving_default"]
            ((_, given),) = signature.inputs.items()
            outputs = {key: info.name for key, info in signature.outputs.items()}
            found = session.run(outputs, {given.name: X})
            report[name] = {key: described(found[key]) for key in sorted(found)}
    return report


def described(array):
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return [text.decode() for text in array.reshape(-1).tolist()]
    return [round(float(value), 4) for value in array.reshape(-1)]


if __name__ == "__main__":
    what, name, where = sys.argv[1:]
    module = engine(name)
    if what == "write":
        for model, write in MODELS.items():
            write(module, os.path.join(where, model))
        files = {
            model: sorted(os.listdir(os.path.join(where, model, "variables"))) for model in MODELS
        }
        print(json.dumps(files))
    else:
        print(json.dumps(run(module, where)))
