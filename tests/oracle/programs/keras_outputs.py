# issue 5: tf.keras: several outputs, weights of examples, steps and classes, masks, and metrics
keras = tf.keras
layers = keras.layers


def floats(values):
    return [np.asarray(v, "float32") for v in values]


def set_all(model, seed=1):
    random = np.random.RandomState(seed)
    model.set_weights([random.randn(*w.shape.as_list()) * 0.5 for w in model.weights])


random = np.random.RandomState(0)
x = random.randn(12, 3).astype("float32")
numbers = random.randint(0, 4, 12)
sizes = random.randn(12, 2).astype("float32")
for form in ("list", "dict"):
    entry = keras.Input((3,), name="entry")
    hidden = layers.Dense(5, activation="tanh", name="hidden")(entry)
    kind = layers.Dense(4, activation="softmax", name="kind")(hidden)
    size = layers.Dense(2, name="size")(hidden)
    model = keras.Model(entry, [kind, size])
    set_all(model)
    losses = {"kind": "sparse_categorical_crossentropy", "size": "mse"}
    weights = {"kind": 1.0, "size": 0.3}
    metrics = {"kind": ["accuracy"], "size": ["mae"]}
    targets = {"kind": numbers, "size": sizes}
    order = ["kind", "size"]
    if form == "list":
        losses, weights, metrics = ([d[k] for k in order] for d in (losses, weights, metrics))
        targets = [targets[k] for k in order]
    model.compile(keras.optimizers.SGD(0.1), losses, metrics, loss_weights=weights)
    history = model.fit(x, targets, batch_size=4, epochs=3, shuffle=False, verbose=0).history
    result[form] = {k: floats(v) for k, v in history.items()}
    result[form + "_names"] = model.metrics_names
    result[form + "_evaluate"] = floats(model.evaluate(x, targets, batch_size=4, verbose=0))
    result[form + "_weights"] = model.get_weights()
    model.reset_metrics()
    result[form + "_weighted"] = model.train_on_batch(
        x,
        targets,
        sample_weight={"kind": np.arange(12) / 6.0, "size": np.ones(12)}
        if form == "dict"
        else [np.arange(12) / 6.0, np.ones(12)],
    )
    model.reset_metrics()
    result[form + "_again"] = model.test_on_batch(x, targets)
    result[form + "_predict"] = model.predict(x)

model = keras.Sequential([layers.Dense(4, activation="softmax", input_dim=3)])
set_all(model)
model.compile(
    keras.optimizers.SGD(0.2),
    "sparse_categorical_crossentropy",
    metrics=["accuracy"],
    weighted_metrics=["accuracy"],
)
history = model.fit(
    x,
    numbers,
    batch_size=4,
    epochs=2,
    shuffle=False,
    verbose=0,
    sample_weight=np.linspace(0.2, 3, 12),
    validation_data=(x[:6], numbers[:6]),
    validation_freq=2,
)
result["sample_weight"] = {k: floats(v) for k, v in history.history.items()}
history = model.fit(
    x,
    numbers,
    batch_size=4,
    epochs=2,
    shuffle=False,
    verbose=0,
    class_weight={0: 1.0, 1: 3.0, 2: 0.5, 3: 0.0},
)
result["class_weight"] = floats(history.history["loss"])

steps = random.randn(4, 6, 3).astype("float32")
steps[0, 2:] = 0
steps[2, 4:] = 0
labels = random.randint(0, 2, (4, 6, 1)).astype("float32")
for mode in (None, "temporal"):
    model = keras.Sequential(
        [
            layers.Masking(input_shape=(6, 3)),
            layers.SimpleRNN(4, return_sequences=True),
            layers.TimeDistributed(layers.Dense(1, activation="sigmoid")),
        ]
    )
    set_all(model)
    model.compile(
        keras.optimizers.SGD(0.2),
        "binary_crossentropy",
        metrics=["binary_accuracy"],
        sample_weight_mode=mode,
    )
    given = None if mode is None else np.linspace(0, 2, 24).reshape(4, 6)
    history = model.fit(
        steps, labels, batch_size=3, epochs=2, shuffle=False, verbose=0, sample_weight=given
    ).history
    result[f"masked_{mode}"] = floats(history["loss"])
    result[f"masked_{mode}_evaluate"] = floats(model.evaluate(steps, labels, verbose=0))

model = keras.Sequential([layers.Dense(1, activation="sigmoid", input_dim=3)])
set_all(model)
M = keras.metrics
watched = [
    M.AUC(name="auc"),
    M.AUC(name="pr", curve="PR", num_thresholds=20),
    M.Precision(name="precision"),
    M.Precision(thresholds=[0.3, 0.7], name="precisions"),
    M.Recall(name="recall"),
    M.TruePositives(name="tp"),
    M.FalsePositives(name="fp"),
    M.TrueNegatives(thresholds=0.4, name="tn"),
    M.FalseNegatives(name="fn"),
    M.SensitivityAtSpecificity(0.5, name="sensitivity"),
    M.SpecificityAtSensitivity(0.5, name="specificity"),
    M.RootMeanSquaredError(name="rmse"),
    M.MeanAbsolutePercentageError(name="mape"),
    M.MeanSquaredLogarithmicError(name="msle"),
    M.CosineSimilarity(name="cosine"),
    M.Hinge(name="hinge"),
    M.SquaredHinge(name="squared"),
    M.CategoricalHinge(name="categorical"),
    M.LogCoshError(name="logcosh"),
    M.Poisson(name="poisson"),
    M.KLDivergence(name="kl"),
    M.BinaryAccuracy(threshold=0.3, name="binary"),
    M.BinaryCrossentropy(label_smoothing=0.1, name="crossentropy"),
    M.MeanRelativeError(normalizer=[[2.0]], name="relative"),
]
for metric in watched:
    model.compile("sgd", "mse", metrics=[metric])
    y = (random.rand(12, 1) > 0.5).astype("float32")
    result["metric_" + metric.name] = floats(model.evaluate(x, y, batch_size=4, verbose=0))[1]
model = keras.Sequential([layers.Dense(4, activation="softmax", input_dim=3)])
set_all(model)
for metric in (
    M.SparseTopKCategoricalAccuracy(k=2, name="sparse_top"),
    M.SparseCategoricalCrossentropy(name="sparse_ce"),
    M.SparseCategoricalAccuracy(name="sparse"),
):
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=[metric])
    result["metric_" + metric.name] = floats(model.evaluate(x, numbers, batch_size=4, verbose=0))[1]
for metric in (M.TopKCategoricalAccuracy(k=3, name="top"), M.CategoricalCrossentropy(name="ce")):
    model.compile("sgd", "categorical_crossentropy", metrics=[metric])
    found = model.evaluate(x, np.eye(4)[numbers], batch_size=4, verbose=0)
    result["metric_" + metric.name] = floats(found)[1]

with tf.Session() as sess:
    for name, metric, arguments in (
        ("mean", M.Mean(), ([1.0, 3.0, 5.0], [1.0, 1.0, 0.0])),
        ("sum", M.Sum(), ([1.0, 3.0, 5.0], [1.0, 2.0, 0.0])),
        ("iou", M.MeanIoU(num_classes=3), ([0, 1, 2, 2], [0, 2, 2, 2])),
        ("tensor", M.MeanTensor(), ([[1.0, 2.0], [3.0, 5.0]],)),
    ):
        update = metric.update_state(*arguments)
        sess.run([v.initializer for v in metric.variables])
        sess.run(update)
        sess.run(update)
        result["value_" + name] = sess.run(metric.result())
