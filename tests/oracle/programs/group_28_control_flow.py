# issue 16: branches by number, strict conditionals, sparse values in loops
"""Group 28: switch_case, strict cond, slices through cond, sparse tensors that grow, map_fn's types."""


def run(fetches):
    with tf.Session() as sess:
        return sess.run(fetches)


one, two = (lambda: tf.constant(1)), (lambda: tf.constant(2))
yes = tf.constant(True)
result["switch_int"] = error_of(lambda: tf.switch_case(1, [one, two]))
result["switch_gap"] = error_of(lambda: tf.switch_case(tf.constant(1), {0: one, 2: two}))
result["switch_twice"] = error_of(lambda: tf.switch_case(tf.constant(1), [(0, one), (0, two)]))
result["switch"] = [run(tf.switch_case(tf.constant(i), [one, two])) for i in (-1, 0, 1, 5)]
result["strict"] = error_of(lambda: tf.cond(yes, lambda: [1], lambda: (1,), strict=True))
result["strict_one"] = run(tf.cond(yes, lambda: [1], lambda: [2], strict=True))
result["not_strict"] = run(tf.cond(yes, lambda: [1], lambda: [2]))
result["other_type"] = error_of(lambda: tf.cond(yes, lambda: 1, lambda: 2.0))
result["other_number"] = error_of(lambda: tf.cond(yes, lambda: [1, 2], lambda: 1))
result["no_value"] = error_of(lambda: tf.cond(yes, lambda: None, lambda: 1))


def slices(kind):
    return lambda: tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0], kind), None)


result["slices"] = error_of(lambda: tf.cond(yes, slices(tf.int32), slices(tf.int64)))
both = tf.cond(yes, slices(tf.int64), slices(tf.int64))
result["slices_alike"] = [both.indices.dtype.name, run(both.values), run(both.indices)]
start = tf.SparseTensor([[0]], [1.0], [1])
grown = tf.while_loop(
    lambda i, s: i < 3,
    lambda i, s: (i + 1, tf.sparse_concat(0, [s, start])),
    [0, start],
    [tf.TensorShape([]), tf.TensorShape([None])],  # without, TensorFlow keeps a wrong dense shape
)[1]
result["grown"] = [np.asarray(part) for part in run(grown)]
result["map_types"] = error_of(lambda: tf.map_fn(lambda x: (x, x), tf.constant([1, 2])))
result["map_pair"] = run(
    tf.map_fn(lambda x: (x, x * 0.5), tf.constant([1.0, 2.0]), dtype=(tf.float32, tf.float32))
)
