# issue 16: ops inside py_function, gradients of it and of crop_and_resize, complex Jacobians
"""Group 11: ops inside py_function, and gradients of it."""


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


result["product"] = run(tf.py_function(tf.matmul, [tf.ones([2, 3]), tf.ones([3, 2])], tf.float32))
result["map_fn"] = run(
    tf.map_fn(
        lambda v: tf.py_function(lambda a: tf.square(a) + 1, [v], tf.float32),
        tf.constant([1.0, 2.0]),
    )
)


def look(x):
    total = 0.0
    for row in x:
        total += tf.reduce_sum(row)
    if total > 9.0:
        total = -total
    return total, np.sum(x), len(x), x.numpy().max(), float(x[0, 0]), x.shape.as_list()


types = [tf.float32, tf.float32, tf.int32, tf.float32, tf.float32, tf.int32]
result["values"] = run(tf.py_function(look, [tf.constant([[1.0, 2.0], [3.0, 4.0]])], types))
result["joined"] = run(
    tf.py_function(lambda s: tf.strings.join([s, b"!"]), [tf.constant("a")], tf.string)
)
x = tf.constant(3.0)
y = tf.py_function(lambda a: a * a + 2.0 * a, [x], tf.float32)
result["gradient"] = run([y, *tf.gradients(y, x)])
v = tf.Variable(2.0)
loss = tf.py_function(lambda a: tf.reduce_sum(a**2), [v * 3.0], tf.float32)
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(v.initializer)
    sess.run(step)
    result["trained"] = sess.run(v)
result["dataset"] = run(
    tf.data.Dataset.range(3)
    .map(lambda x: tf.py_function(lambda v: v + 1 if v > 1 else v * 10, [x], tf.int64))
    .batch(3)
    .make_one_shot_iterator()
    .get_next()
)

image = tf.constant(np.arange(100, dtype=np.float32).reshape(2, 5, 5, 2) ** 1.5)
boxes = tf.constant([[0.13, 0.2, 0.7, 0.9], [0.8, 0.1, 0.3, 1.2], [0.0, 0.0, 1.0, 1.0]])
for method in ("bilinear", "nearest"):
    for size in ([3, 4], [1, 1], [5, 5]):
        crops = tf.image.crop_and_resize(image, boxes, [0, 1, 1], size, method=method)
        by_image, by_boxes = tf.gradients(tf.reduce_sum(crops**2), [image, boxes])
        name = f"{method}_{size[0]}"
        result[f"{name}_image"] = run(by_image)
        if method == "bilinear":
            result[f"{name}_boxes"] = run(by_boxes)
z = tf.constant([1.0 + 2j, 0.5 - 1j])
with tf.Session():
    result["complex_jacobian"] = tf.test.compute_gradient(
        z, [2], tf.conj(z) * (2.0 + 1j), [2], x_init_value=np.array([1.0 + 2j, 0.5 - 1j])
    )[0]
    result["complex_to_real"] = tf.test.compute_gradient(z, [2], tf.real(z), [2])[0]
