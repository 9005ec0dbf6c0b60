"""Models that are written to files and read again, here and under TensorFlow; inputs beside them.

    python file_models.py write FOLDER      under TensorFlow: name.h5 and name.npz for each model
    python file_models.py read FOLDER       under TensorFlow: JSON of what each name.h5 predicts

``write`` made the files in tensorflow_files/.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("convolutional", "recurrent", "nested")


def convolutional(keras: Any) -> tuple[Any, list[Any], list[Any]]:
    """Images, with averages that move while training, and Adam's state."""
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(3, 3, activation="relu", input_shape=(6, 6, 1)),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dense(2, activation="softmax", kernel_regularizer="l2"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy", ["accuracy"])
    return model, [np.sin(np.arange(144.0)).reshape(4, 6, 6, 1)], [np.eye(2)[[0, 1, 0, 1]]]


def recurrent(keras: Any) -> tuple[Any, list[Any], list[Any]]:
    """Two inputs, two outputs, layers around layers."""
    layers = keras.layers
    words, sizes = keras.Input((5,), dtype="int32", name="words"), keras.Input((3,), name="sizes")
    vectors = layers.Embedding(7, 4)(words)
    each = layers.TimeDistributed(layers.Dense(3, activation="tanh"))(vectors)
    read = layers.Bidirectional(layers.LSTM(2))(each)
    joined = layers.concatenate([read, layers.GRU(2)(each), layers.Dense(2)(sizes)])
    outputs = [layers.Dense(1, name="price")(joined), layers.Dense(2, name="place")(joined)]
    model = keras.Model([words, sizes], outputs)
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9),
        {"price": "mse", "place": "mae"},
        loss_weights={"price": 1.0, "place": 0.5},
    )
    inputs = [np.arange(20).reshape(4, 5) % 7, np.cos(np.arange(12.0)).reshape(4, 3)]
    return model, inputs, [np.ones((4, 1)), np.arange(8.0).reshape(4, 2) / 8]


def nested(keras: Any) -> tuple[Any, list[Any], list[Any]]:
    """Models inside a model, one of them called twice, the other with averages that move.

    (Averages of a layer that is called twice depend on which call comes first. And a bias before
    the normalization would have a gradient of rounding errors only.)
    """
    layers = keras.layers
    inner = keras.Sequential(
        [layers.Dense(4, activation="tanh", input_shape=(3,)), layers.Dense(2)], name="inner"
    )
    last = keras.Sequential(
        [
            layers.Dense(3, use_bias=False, input_shape=(2,)),
            layers.BatchNormalization(),
            layers.Dense(1),
        ],
        name="last",
    )
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    model = keras.Model([a, b], last(layers.add([inner(a), inner(b)])))
    model.compile(keras.optimizers.RMSprop(0.01), "mse")
    inputs = [np.sin(np.arange(12.0)).reshape(4, 3), np.cos(np.arange(12.0)).reshape(4, 3)]
    return model, inputs, [np.arange(4.0)[:, None]]


def build(keras: Any, name: str) -> tuple[Any, list[Any], list[Any]]:
    """The model of a name, trained a little, with its inputs and targets."""
    model, inputs, targets = globals()[name](keras)
    random = np.random.RandomState(1)
    model.set_weights([np.abs(random.randn(*w.shape.as_list())) * 0.3 for w in model.weights])
    model.fit(inputs, targets, epochs=2, batch_size=4, shuffle=False, verbose=0)
    return model, inputs, targets


def answers(model: Any, inputs: list[Any], targets: list[Any]) -> dict[str, Any]:
    """What a model predicts, and its loss after two more steps: that needs the optimizer's state."""

    def predict() -> list[Any]:
        found = model.predict(inputs)
        return found if isinstance(found, list) else [found]

    before = predict()
    for _ in range(2):
        model.train_on_batch(inputs, targets)
    return {"before": [p.tolist() for p in before], "after": [p.tolist() for p in predict()]}


def main(what: str, folder: Path) -> None:
    """Runs under TensorFlow."""
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    found = {}
    for name in NAMES:
        tf.keras.backend.clear_session()
        if what == "write":
            model, inputs, targets = build(tf.keras, name)
            model.save(str(folder / f"{name}.h5"))
            model.save_weights(str(folder / f"{name}_weights.h5"))
        else:
            model = tf.keras.models.load_model(str(folder / f"{name}.h5"))
            inputs, targets = globals()[name](tf.keras)[1:]
        found[name] = answers(model, inputs, targets)
    if what == "write":
        (folder / "answers.json").write_text(json.dumps(found))
    else:
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
