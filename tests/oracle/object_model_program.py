"""Runs under either engine: writes SavedModels of objects, or loads the other's and says what they give.

python object_model_program.py write|run dataflow|tensorflow FOLDER     (JSON on standard output)
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np


def engine(name):
    if name == "dataflow":
        import dataflow

        dataflow.enable_eager_execution()
        from dataflow.compat import v2 as tf

        return tf, dataflow
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    if tf.__version__.startswith("1."):
        tf.compat.v1.enable_eager_execution()
        return tf.compat.v2, tf.compat.v1
    return tf, tf.compat.v1


def network(tf):
    class Network(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([[1.0, -1.0], [0.5, 2.0]], name="w")
            self.steps = tf.Variable(0, trainable=False, dtype=tf.int32)
            self.parts = [tf.Variable([1.0, 2.0]), {"text": tf.Variable("inner")}]

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
        def predict(self, x):
            self.steps.assign_add(1)
            y = tf.matmul(x, self.w) + self.parts[0]
            for _ in tf.range(3):
                if tf.reduce_max(y) < 20.0:
                    y = y * 2.0
            return {"y": y, "steps": self.steps.read_value()}

        @tf.function
        def choose(self, x, twice=False, bias=None):
            x = x * 2 if twice else x
            return (x, [x + 1]) if bias is None else x + bias

    made = Network()
    made.choose(tf.constant(1.0))
    made.choose(tf.constant(1), twice=True)
    made.choose(tf.constant(1), True, tf.constant(2))
    return made, made.predict


def table(tf):
    class Words(tf.Module):
        def __init__(self):
            super().__init__()
            pairs = tf.lookup.KeyValueTensorInitializer(
                tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
            )
            self.table = tf.lookup.StaticHashTable(pairs, -1)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words")])
        def numbers(self, words):
            return self.table.lookup(words)

    made = Words()
    return made, made.numbers


def keras(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Embedding(20, 4, input_length=5),
            layers.LSTM(3, return_sequences=True),
            layers.GRU(3),
            layers.Dense(2, activation="softmax"),
        ]
    )
    model.build((None, 5))
    return model, None


MODELS = {"network": network, "table": table, "keras": keras}
WORDS = np.arange(10, dtype=np.int32).reshape(2, 5)


def run(tf, v1, folder):
    load = tf.saved_model.load
    net = load(os.path.join(folder, "network"))
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    found = {
        "predict": described(net.predict(x)),
        "again": described(net.predict(x)),
        "choose": described(net.choose(tf.constant(3.0))),
        "twice": described(net.choose(tf.constant(3), twice=True)),
        "bias": described(net.choose(tf.constant(3), True, tf.constant(5))),
        "text": described(net.parts[1]["text"].read_value()),
        "trainable": [net.w.trainable, net.steps.trainable],
        "words": described(load(os.path.join(folder, "table")).numbers(tf.constant(["b", "c"]))),
    }
    (served,) = load(os.path.join(folder, "keras")).signatures.values()
    ((_, name),) = [(s, k) for s, k in enumerate(served.structured_input_signature[1])]
    kind = served.structured_input_signature[1][name].dtype
    (probabilities,) = served(**{name: tf.cast(tf.constant(WORDS), kind)}).values()
    found["keras"] = described(probabilities)
    found["sessions"] = in_sessions(v1, folder)
    return found


def in_sessions(v1, folder):
    report = {}
    fed = {"network": [[1.0, 2.0]], "table": ["a", "z"], "keras": WORDS}
    for name in MODELS:
        with v1.Graph().as_default(), v1.Session() as session:
            meta = v1.saved_model.loader.load(session, ["serve"], os.path.join(folder, name))
            signature = meta.signature_def["serving_default"]
            (given,) = signature.inputs.values()
            outputs = {key: signature.outputs[key].name for key in sorted(signature.outputs)}
            found = session.run(outputs, {given.name: fed[name]})
            report[name] = [described(found[key]) for key in sorted(found)]
    return report


def described(value):
    if isinstance(value, dict):
        return {key: described(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [described(part) for part in value]
    array = np.asarray(value)
    if array.dtype.kind in "OS":
        return [text.decode() for text in array.reshape(-1).tolist()]
    return [round(float(number), 4) for number in array.reshape(-1)]


if __name__ == "__main__":
    what, name, where = sys.argv[1:]
    tf, v1 = engine(name)
    if what == "write":
        for model, make in MODELS.items():
            made, signature = make(tf)
            tf.saved_model.save(made, os.path.join(where, model), signature)
        print(json.dumps("written"))
    else:
        print(json.dumps(run(tf, v1, where)))
