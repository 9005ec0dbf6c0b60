# issue 16: optionals and ragged tensors through cond and while_loop
Optional = tf.data.experimental.Optional
numbers = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
spec = tf.TensorSpec([], tf.int64)
choose = tf.placeholder(tf.bool, [])
chosen = tf.cond(
    choose,
    lambda: Optional.from_value(tf.constant(7, tf.int64)),
    lambda: tf.data.experimental.get_next_as_optional(numbers),
)
result["kind"] = isinstance(chosen, Optional)
rounds = tf.while_loop(
    lambda i, total, o: o.has_value(),
    lambda i, total, o: (
        i + 1,
        total + o.get_value(),
        tf.data.experimental.get_next_as_optional(numbers),
    ),
    [0, tf.constant(0, tf.int64), tf.data.experimental.get_next_as_optional(numbers)],
)
ragged = tf.cond(
    choose,
    lambda: tf.ragged.constant([[1, 2], [], [3]]),
    lambda: tf.ragged.constant([[4], [5, 6]]),
)

one = np.arange(6.0).reshape(2, 3, 1)
with tf.Session() as session:
    result["true"] = session.run(chosen.get_value(), {choose: True})
    result["false"] = session.run(chosen.get_value(), {choose: False})
    result["rounds"] = list(session.run(rounds[:2]))
    for flag in (True, False):
        value = session.run(ragged, {choose: flag})
        result[f"ragged {flag}"] = [value.values, value.row_splits]
