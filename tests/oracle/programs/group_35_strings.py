# issue 16: strings
"""Group 35: numbers in text, joins over empty axes, what tf.print takes."""


def run(fetches):
    with tf.Session() as sess:
        return sess.run(fetches)


result["hexadecimal"] = run(tf.string_to_number(["0xF", "1.5", "-2e3", " 7 "]))
for kind in (tf.int32, tf.int64, tf.float64):
    result[f"number {kind.name}"] = run(tf.string_to_number(["12", "-3"], kind))
    result[f"no number {kind.name}"] = error_of(lambda: run(tf.string_to_number("1x", kind)))
result["too_large"] = error_of(lambda: run(tf.string_to_number("99999999999", tf.int32)))
result["join_none"] = [
    run(tf.reduce_join(tf.constant([], tf.string, shape=shape), axis))
    for shape, axis in (([0, 2], 0), ([2, 0], 1))
]
words = tf.constant([["a", "b"], ["c", "d"]])
result["join"] = [
    run(tf.reduce_join(words, axis, separator="-")) for axis in (0, 1, [0, 1], [1, 0])
]
result["join_keeps"] = run(tf.reduce_join(words, 1, keep_dims=True))
result["join_axis"] = error_of(lambda: run(tf.reduce_join(words, 2)))
result["print_braces"] = run(tf.print({"{}": tf.constant(1)}))
result["print_stream"] = error_of(lambda: tf.print("x", output_stream="unknown"))
result["print_nested"] = run(tf.print("a{}b", [tf.constant(1), {"k": tf.constant([2.0])}]))
