# issue 5: canned estimators learn, and report what TensorFlow's report
tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(0)
X = rng.randn(90, 4).astype(np.float32)
classes = (np.arange(90) % 3).astype(np.int32)
X[np.arange(90), classes] += 3.0
columns = [tf.feature_column.numeric_column(name) for name in "abcd"]
features = {name: X[:, i] for i, name in enumerate("abcd")}


def train_fn():
    return (
        tf.data.Dataset.from_tensor_slices((features, classes))
        .shuffle(90, seed=1)
        .repeat()
        .batch(30)
    )


def eval_fn():
    return tf.data.Dataset.from_tensor_slices((features, classes)).batch(30)


config = tf.estimator.RunConfig(tf_random_seed=3)
models = {
    "dnn": tf.estimator.DNNClassifier(
        [10, 10], columns, tmp_dir + "/dnn", n_classes=3, config=config
    ),
    "linear": tf.estimator.LinearClassifier(
        columns, tmp_dir + "/linear", n_classes=3, config=config
    ),
    "both": tf.estimator.DNNLinearCombinedClassifier(
        tmp_dir + "/both",
        linear_feature_columns=columns,
        dnn_feature_columns=columns,
        dnn_hidden_units=[8],
        n_classes=3,
        config=config,
    ),
}
for name, model in models.items():
    model.train(train_fn, steps=200)
    report = model.evaluate(eval_fn)
    result[name + "_keys"] = sorted(report)
    result[name + "_learned"] = bool(report["accuracy"] > 0.9)
    result[name + "_step"] = int(report["global_step"])
    result[name + "_loss_ratio"] = bool(abs(report["loss"] / report["average_loss"] - 30) < 1e-2)
    prediction = next(iter(model.predict(eval_fn)))
    result[name + "_prediction"] = {
        k: [str(np.asarray(v).dtype), list(np.asarray(v).shape)] for k, v in prediction.items()
    }
    result[name + "_variables"] = sorted(v for v in model.get_variable_names())
regressor = tf.estimator.DNNRegressor([8], columns, tmp_dir + "/regressor", config=config)
target = X.sum(1, keepdims=True).astype(np.float32)
regressor.train(
    lambda: tf.data.Dataset.from_tensor_slices((features, target)).repeat().batch(30), steps=300
)
report = regressor.evaluate(
    lambda: tf.data.Dataset.from_tensor_slices((features, target)).batch(30)
)
result["regressor_keys"] = sorted(report)
result["regressor_learned"] = bool(report["average_loss"] < 3.0)
result["regressor_prediction"] = {
    k: list(v.shape) for k, v in next(iter(regressor.predict(eval_fn))).items()
}
binary = tf.estimator.LinearClassifier(columns, tmp_dir + "/binary", config=config)
yes = (classes == 0).astype(np.int32)
binary.train(
    lambda: tf.data.Dataset.from_tensor_slices((features, yes)).repeat().batch(30), steps=100
)
result["binary_keys"] = sorted(
    binary.evaluate(lambda: tf.data.Dataset.from_tensor_slices((features, yes)).batch(30))
)
result["binary_prediction"] = sorted(next(iter(binary.predict(eval_fn))))
