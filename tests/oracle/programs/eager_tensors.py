# issue 16: tensors with values, tapes and loops of eager execution
"""Eager execution: values, conversions, control flow, tapes."""

tf.enable_eager_execution()

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
result["values"] = [(tf.matmul(x, x) + 1).numpy(), float(tf.reduce_sum(x)), len(x)]
result["texts"] = [str(tf.constant(3.0)), str(x), f"{tf.constant(0.25):.3f}"]
result["conversions"] = [int(tf.constant(3)), bool(tf.constant(0)), [5, 6, 7][tf.constant(1)]]
result["loops"] = [
    tf.cond(x[0, 0] > 2, lambda: x * 2, lambda: x - 1).numpy(),
    [t.numpy() for t in tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), [0, 0])],
    tf.map_fn(lambda a: a * a, x).numpy(),
    tf.scan(lambda a, b: a + b, tf.constant([1, 2, 3])).numpy(),
]
array = tf.TensorArray(tf.float32, 3, clear_after_read=False)
for i in range(3):
    array = array.write(i, float(i))
result["array"] = [array.stack().numpy(), array.gather([2, 0]).numpy(), array.size().numpy()]
result["errors"] = [
    error_of(lambda: tf.placeholder(tf.float32)),
    error_of(lambda: tf.gradients(x, x)),
    error_of(lambda: len(tf.constant(1))),
    error_of(lambda: iter(tf.constant(1))),
    error_of(lambda: tf.assert_equal(1, 2)),
    error_of(lambda: array.read(5)),
]

v, frozen = tf.Variable(2.0), tf.Variable(5.0, trainable=False)
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    y = tf.reduce_sum(x * x) * v * frozen
    with tape.stop_recording():
        unseen = v * 3.0
result["gradients"] = [
    g if g is None else g.numpy() for g in tape.gradient(y, [x, v, frozen, tf.constant(1.0)])
]
result["unseen"] = tape.gradient(unseen, v)
result["watched"] = len(tape.watched_variables())
with tf.GradientTape() as outer, tf.GradientTape() as inner:
    cube = v * v * v
    first = inner.gradient(cube, v)
result["second"] = [first.numpy(), outer.gradient(first, v).numpy()]
with tf.GradientTape() as tape:
    tape.watch(x)
    rows = tf.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2], axis=1)
result["jacobian"] = tape.batch_jacobian(rows, x).numpy()
with tf.GradientTape() as tape:
    y = v * v
tape.gradient(y, v)
result["once"] = error_of(lambda: tape.gradient(y, v))

with tf.Graph().as_default():
    p = tf.placeholder(tf.float32, [])
    q = p * tf.Variable(3.0) + 1.0
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        result["graph"] = [tf.executing_eagerly(), sess.run(q, {p: 2.0})]
result["again"] = tf.executing_eagerly()
