# issue 3: feeding placeholders and overriding other tensors
x = tf.placeholder(tf.float32, name="x")
y = tf.placeholder(tf.int32, shape=[2], name="y")
c = tf.constant(4.0)
z = x * c
d = tf.placeholder_with_default([1.0, 2.0], shape=[None], name="d")
with tf.Session() as sess:
    result["scalar"] = sess.run(z, {x: 2})
    result["array"] = sess.run(z, {x: np.arange(3)})
    result["override"] = sess.run(z, {x: 2.0, c: 10.0})
    result["fetch_fed"] = sess.run(x, {x: [[1, 2]]})
    result["middle"] = sess.run(z + 1.0, {z: 5.0})
    result["default"] = sess.run(d)
    result["default_fed"] = sess.run(d, {d: [7.0]})
    result["list_as_int"] = sess.run(y, {y: [1, 2]})
    result["bad_shape"] = error_of(lambda: sess.run(y, {y: [1, 2, 3]}))
    result["float_for_int"] = error_of(lambda: sess.run(y, {y: [1.5, 2.5]}))
    result["tensor_fed"] = error_of(lambda: sess.run(y, {y: tf.constant([1, 2])}))
    v = tf.Variable([1.0, 2.0])
    sess.run(v.initializer)
    result["variable_fed"] = sess.run(v * 2.0, {v: [5.0, 6.0]})
    result["eval"] = z.eval({x: 3.0})
    result["eval_op"] = v.eval()
result["static"] = [shape_of(x), shape_of(y), shape_of(z), shape_of(d)]
result["feedable"] = tf.get_default_graph().is_feedable(x)

# What is fed and fetched comes back as it was fed.
text = tf.placeholder(tf.string)
with tf.Session() as sess:
    given = np.array([[1, 2]], np.float32)
    got, computed = sess.run([x, z], {x: given})
    result["fed_itself"] = [got is given, computed]
    result["fed_again"] = sess.make_callable(x, [x])(given) is given
    result["fed_middle"] = sess.run(z, {z: given}) is given
    other = np.array([[1, 2]])
    got = sess.run(x, {x: other})
    result["fed_other"] = [got is other, got]
    got = sess.run(x, {x: 2.0})
    result["fed_number"] = [isinstance(got, np.ndarray), got.dtype.name, got.shape]
    got = sess.run(text, {text: "a"})
    result["fed_text"] = [got.dtype.name, got.shape, got[()] == "a"]
    got = sess.run(text, {text: ["a", b"b"]})
    result["fed_texts"] = [got.dtype.name, list(got) == ["a", b"b"]]
    result["fed_partly"] = error_of(lambda: sess.partial_run_setup([x, z], [x]))
