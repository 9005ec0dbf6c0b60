# issue 5: numpy and pandas input functions, train_and_evaluate, hooks
tf.logging.set_verbosity(tf.logging.ERROR)
x = {"a": np.arange(6.0), "b": np.arange(12).reshape(6, 2)}
y = np.arange(6)


def drain(fn):
    with tf.Graph().as_default():
        outputs = fn()
        with tf.Session() as sess:
            coord = tf.train.Coordinator()
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            threads = tf.train.start_queue_runners(sess, coord)
            got = []
            try:
                for _ in range(5):
                    got.append(sess.run(outputs))
            except tf.errors.OutOfRangeError:
                got.append("end")
            coord.request_stop()
            coord.join(threads)
    return got


I = tf.estimator.inputs
result["numpy"] = drain(I.numpy_input_fn(x, y, batch_size=4, shuffle=False))
result["no_labels"] = drain(
    I.numpy_input_fn({"a": np.arange(3)}, batch_size=2, num_epochs=2, shuffle=False)
)
result["array"] = drain(I.numpy_input_fn(np.arange(4), np.arange(4), batch_size=4, shuffle=False))
shuffled = drain(I.numpy_input_fn(x, y, batch_size=6, shuffle=True))
result["shuffled"] = sorted(int(v) for v in shuffled[0][1])
result["shuffle_missing"] = error_of(lambda: I.numpy_input_fn(x, y, shuffle=None))
result["ragged"] = error_of(
    lambda: drain(I.numpy_input_fn({"a": np.arange(3), "b": np.arange(4)}, shuffle=False))
)
steps = []


class Recorder(tf.train.SessionRunHook):
    def begin(self):
        steps.append("begin")

    def after_create_session(self, session, coord):
        steps.append("created")

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, run_context, run_values):
        steps.append(int(run_values.results))

    def end(self, session):
        steps.append("end")


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(
        tf.square(tf.cast(features["a"], tf.float32) * w - tf.cast(labels, tf.float32))
    )
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode,
        predictions=w,
        loss=loss,
        train_op=train,
        eval_metric_ops={"mean_w": tf.metrics.mean(w)},
    )


estimator = tf.estimator.Estimator(model_fn, tmp_dir)
estimator.train(
    I.numpy_input_fn(x, y, batch_size=6, num_epochs=None, shuffle=False),
    steps=3,
    hooks=[Recorder()],
)
result["hook"] = steps[:2] + steps[-1:]
result["runs"] = len([s for s in steps if isinstance(s, int)])
train_spec = tf.estimator.TrainSpec(
    I.numpy_input_fn(x, y, batch_size=6, num_epochs=None, shuffle=False), max_steps=6
)
eval_spec = tf.estimator.EvalSpec(
    I.numpy_input_fn(x, y, batch_size=6, shuffle=False),
    steps=None,
    start_delay_secs=0,
    throttle_secs=0,
)
report, _ = tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
result["report"] = {k: float(v) for k, v in report.items()}
