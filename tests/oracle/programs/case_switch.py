# issue 3: tf.case and switch_case
x = tf.placeholder(tf.int32, [])
out = tf.case(
    [(x < 0, lambda: tf.constant(-1)), (x > 10, lambda: tf.constant(10))], default=lambda: x * 2
)
by_dict = tf.case(
    {tf.equal(x, 1): lambda: tf.constant(100), tf.equal(x, 2): lambda: tf.constant(200)},
    default=lambda: tf.constant(0),
    exclusive=True,
)
overlapping = tf.case(
    [(x > 0, lambda: tf.constant(1)), (x > 5, lambda: tf.constant(5))],
    default=lambda: tf.constant(0),
    exclusive=True,
)
no_default = tf.case([(x < 0, lambda: tf.constant(-1)), (x >= 0, lambda: tf.constant(1))])
switched = tf.switch_case(
    x, [lambda: tf.constant(7), lambda: tf.constant(8)], default=lambda: tf.constant(9)
)
with tf.Session() as sess:
    result["out"] = [sess.run(out, {x: value}) for value in (-5, 5, 50)]
    result["dict"] = [sess.run(by_dict, {x: value}) for value in (1, 2, 3)]
    result["overlapping"] = error_of(lambda: sess.run(overlapping, {x: 6}))
    result["only_one"] = sess.run(overlapping, {x: 3})
    result["no_default"] = [sess.run(no_default, {x: value}) for value in (-5, 5)]
    result["switch"] = [sess.run(switched, {x: value}) for value in (0, 1, 5)]
