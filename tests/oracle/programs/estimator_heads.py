# issue 5: estimators with heads: losses, metrics and predictions of every head
tf.logging.set_verbosity(tf.logging.ERROR)
E = tf.estimator
rng = np.random.RandomState(0)
x = rng.normal(size=(40, 3)).astype(np.float32)
weights = rng.uniform(0.5, 2.0, 40).astype(np.float32)
score = x @ [1.0, -2.0, 0.5]
columns = [tf.feature_column.numeric_column("x", shape=[3])]
two = (score > 0).astype(np.int64)
three = np.digitize(score, [-1, 1]).astype(np.int64)
labels = {
    "binary": two,
    "weighted": two,
    "named": two,
    "summed": two,
    "words": np.array(["no", "yes"])[two],
    "multi_class": three,
    "regression": score.astype(np.float32),
    "two_numbers": np.stack([score, -score], 1).astype(np.float32),
    "linked": np.abs(score).astype(np.float32),
    "logistic": (1 / (1 + np.exp(-score))).astype(np.float32),
    "poisson": np.round(np.exp(np.clip(score, -2, 2))).astype(np.float32),
    "poisson_part": np.round(np.exp(np.clip(score, -2, 2))).astype(np.float32),
    "multi_label": np.stack([score > 0, x[:, 0] > 0, x[:, 1] > 1], 1).astype(np.int64),
    "own_loss": two,
}


def absolute(labels, logits):
    return tf.abs(tf.cast(labels, tf.float32) - logits)


heads = {
    "binary": lambda: E.BinaryClassHead(thresholds=[0.3, 0.7]),
    "weighted": lambda: E.BinaryClassHead(weight_column="w"),
    "named": lambda: E.BinaryClassHead(name="first"),
    "summed": lambda: E.BinaryClassHead(loss_reduction="sum"),
    "words": lambda: E.BinaryClassHead(label_vocabulary=["no", "yes"]),
    "multi_class": lambda: E.MultiClassHead(3),
    "regression": lambda: E.RegressionHead(),
    "two_numbers": lambda: E.RegressionHead(2, weight_column="w"),
    "linked": lambda: E.RegressionHead(inverse_link_fn=tf.exp),
    "logistic": lambda: E.LogisticRegressionHead(),
    "poisson": lambda: E.PoissonRegressionHead(),
    "poisson_part": lambda: E.PoissonRegressionHead(compute_full_loss=False),
    "multi_label": lambda: E.MultiLabelHead(
        3, weight_column="w", thresholds=[0.4], classes_for_class_based_metrics=[0, 2]
    ),
    "own_loss": lambda: E.BinaryClassHead(loss_fn=absolute),
}


def inputs(y, epochs=1):
    return E.inputs.numpy_input_fn(
        {"x": x, "w": weights}, y, batch_size=20, num_epochs=epochs, shuffle=False
    )


def linear(head, folder=None):
    # 2.15's LinearEstimator wants Keras' optimizers for these heads: so a model_fn it is.
    def model_fn(features, labels, mode):
        with tf.variable_scope("linear"):
            logits = tf.feature_column.linear_model(
                {"x": features["x"]}, columns, units=head.logits_dimension
            )
        return head.create_estimator_spec(
            features,
            mode,
            logits,
            labels=labels,
            train_op_fn=lambda loss: tf.train.GradientDescentOptimizer(0.05).minimize(
                loss, global_step=tf.train.get_global_step()
            ),
        )

    return E.Estimator(model_fn, folder)


def report(name, head, y):
    estimator = linear(head, tmp_dir + "/" + name)
    estimator.train(inputs(y, None), steps=15)
    metrics = estimator.evaluate(inputs(y))
    result[name + "_metrics"] = {k: float(metrics[k]) for k in sorted(metrics)}
    result[name + "_bias"] = estimator.get_variable_value("linear/linear_model/bias_weights")
    predictions = next(estimator.predict(inputs(None)))
    result[name + "_predictions"] = {str(k): predictions[k] for k in sorted(predictions, key=str)}


for name in heads:
    report(name, heads[name](), labels[name])

report(
    "several",
    E.MultiHead(
        [E.BinaryClassHead(name="sign"), E.RegressionHead(name="value")], head_weights=[1.0, 0.5]
    ),
    {"sign": two, "value": score.astype(np.float32)},
)

estimator = linear(E.RegressionHead())
more = E.add_metrics(
    estimator,
    lambda labels, predictions: {
        "mae": tf.metrics.mean_absolute_error(labels, tf.squeeze(predictions["predictions"], -1))
    },
)
more.train(inputs(labels["regression"], None), steps=5)
metrics = more.evaluate(inputs(labels["regression"]))
result["added"] = {k: float(metrics[k]) for k in sorted(metrics)}
result["added_unknown"] = error_of(
    lambda: E.add_metrics(estimator, lambda nothing: {}).evaluate(inputs(labels["regression"]))
)

result["bad_threshold"] = error_of(lambda: E.BinaryClassHead(thresholds=[1.5]))
result["two_classes"] = error_of(lambda: E.MultiClassHead(2))
result["no_names"] = error_of(lambda: E.MultiHead([E.BinaryClassHead()]))
result["wrong_loss_fn"] = error_of(lambda: E.BinaryClassHead(loss_fn=lambda logits: logits))
