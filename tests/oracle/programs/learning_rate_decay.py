# issue 5: decays of the learning rate, and moving averages
step = tf.placeholder(tf.int32, [])
decays = {
    "exponential": tf.train.exponential_decay(0.1, step, 10, 0.96),
    "staircase": tf.train.exponential_decay(0.1, step, 10, 0.5, staircase=True),
    "piecewise": tf.train.piecewise_constant(step, [5, 15], [1.0, 0.5, 0.1]),
    "polynomial": tf.train.polynomial_decay(0.1, step, 20, 0.01, power=2.0),
    "polynomial_cycle": tf.train.polynomial_decay(0.1, step, 8, 0.01, cycle=True),
    "natural": tf.train.natural_exp_decay(0.1, step, 10, 0.5),
    "inverse_time": tf.train.inverse_time_decay(0.1, step, 10, 0.5, staircase=True),
    "cosine": tf.train.cosine_decay(0.1, step, 20, alpha=0.1),
    "restarts": tf.train.cosine_decay_restarts(0.1, step, 6),
    "linear_cosine": tf.train.linear_cosine_decay(0.1, step, 20),
}
with tf.Session() as sess:
    for name, decay in decays.items():
        result[name] = [sess.run(decay, {step: s}) for s in (0, 3, 5, 6, 10, 17, 25)]
        result[name + "_name"] = decay.name.split("/")[0]
v = tf.Variable(0.0, name="v")
w = tf.Variable([1.0, 2.0], name="w")
counter = tf.Variable(0, name="counter", trainable=False)
ema = tf.train.ExponentialMovingAverage(0.9, num_updates=counter)
plain = tf.train.ExponentialMovingAverage(0.5, zero_debias=True, name="plain")
maintain = ema.apply([v, w])
plain_op = plain.apply([v * 2.0])
result["average_names"] = [ema.average(v).name, ema.average_name(v), ema.average(w).op.name]
result["to_restore"] = sorted(ema.variables_to_restore())
result["collection"] = [x.name for x in tf.moving_average_variables()]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    seen = []
    for value in (1.0, 5.0, -2.0):
        sess.run([v.assign(value), w.assign([value, value])])
        sess.run([counter.assign_add(1)])
        sess.run([maintain, plain_op])
        seen.append(sess.run([ema.average(v), ema.average(w)]))
    result["averages"] = seen
result["missing"] = ema.average(counter) is None
result["step"] = [
    tf.train.get_global_step() is None,
    tf.train.get_or_create_global_step().name,
    tf.train.create_global_step is not None,
]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["global_step"] = tf.train.global_step(sess, tf.train.get_global_step())
