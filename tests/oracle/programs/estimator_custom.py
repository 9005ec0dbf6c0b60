# issue 5: a custom Estimator: train, evaluate, predict, resume
# tolerance 1e-3
import os

tf.logging.set_verbosity(tf.logging.ERROR)
X = np.linspace(-1, 1, 16).astype(np.float32)[:, None]
Y = (3.0 * X[:, 0] - 1.0).astype(np.float32)
modes = []


def model_fn(features, labels, mode, params):
    modes.append(mode)
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    prediction = tf.squeeze(tf.matmul(features["x"], w) + b, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(
            mode, predictions={"y": prediction, "double": prediction * 2.0}
        )
    loss = tf.losses.mean_squared_error(labels, prediction)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {"mae": tf.metrics.mean_absolute_error(labels, prediction)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    optimizer = tf.train.GradientDescentOptimizer(params["rate"])
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(epochs=None):
    return tf.estimator.inputs.numpy_input_fn(
        {"x": X}, Y, batch_size=16, num_epochs=epochs, shuffle=False
    )


config = tf.estimator.RunConfig(
    model_dir=tmp_dir + "/model", tf_random_seed=1, save_checkpoints_steps=10
)
estimator = tf.estimator.Estimator(model_fn, params={"rate": 0.3}, config=config)
estimator.train(input_fn(), steps=20)
result["first"] = estimator.evaluate(input_fn(1))
estimator.train(input_fn(), steps=20)
result["second"] = estimator.evaluate(input_fn(1))
result["max_steps"] = [
    estimator.train(input_fn(), max_steps=40) is estimator,
    estimator.get_variable_value("global_step"),
]
predictions = list(
    estimator.predict(tf.estimator.inputs.numpy_input_fn({"x": X[:2]}, shuffle=False))
)
result["predictions"] = predictions
result["keys"] = [
    p["y"]
    for p in estimator.predict(
        tf.estimator.inputs.numpy_input_fn({"x": X[:2]}, shuffle=False), predict_keys=["y"]
    )
]
result["modes"] = modes[:2] + modes[-1:]
result["names"] = sorted(estimator.get_variable_names())
result["weights"] = [estimator.get_variable_value("w"), estimator.get_variable_value("b")]
result["latest"] = os.path.basename(estimator.latest_checkpoint())
again = tf.estimator.Estimator(model_fn, params={"rate": 0.3}, config=config)
result["resumed"] = again.evaluate(input_fn(1), name="other")
dataset = lambda: tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(16).repeat(2)
again.train(dataset)
result["by_dataset"] = again.get_variable_value("global_step")
result["no_checkpoint"] = error_of(
    lambda: tf.estimator.Estimator(model_fn, tmp_dir + "/none", params={}).evaluate(input_fn(1))
)
result["bad_model_fn"] = error_of(lambda: tf.estimator.Estimator(lambda x: None, tmp_dir + "/m"))
result["steps_twice"] = error_of(lambda: estimator.train(input_fn(), steps=1, max_steps=2))
result["spec"] = error_of(
    lambda: tf.estimator.EstimatorSpec(tf.estimator.ModeKeys.TRAIN, loss=tf.constant(1.0))
)
result["modes_values"] = [
    tf.estimator.ModeKeys.TRAIN,
    tf.estimator.ModeKeys.EVAL,
    tf.estimator.ModeKeys.PREDICT,
]
