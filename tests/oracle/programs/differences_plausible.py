# issue 16: variables, templates, TensorArrays, sparse tensors, text: what programs may well meet


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


v = tf.Variable([1.0, 2.0, 3.0])
with tf.Session() as sess:
    sess.run(v.initializer)
    sess.run(tf.assign(v[1:3], [5.0, 6.0]))
    sess.run(tf.assign(v[0], 9.0))
    result["slices"] = sess.run(v)
result["text_variable"] = run(tf.get_variable("text", [2], tf.string))
for method in ("mul", "div", "min", "max", "add", "sub", "update"):
    r = tf.get_variable(f"r_{method}", initializer=[[1.0, 2.0], [7.0, 7.0]], use_resource=True)
    rows = tf.IndexedSlices(tf.constant([[2.0, 3.0]]), tf.constant([0]))
    with tf.Session() as sess:
        sess.run(r.initializer)
        sess.run(getattr(r, f"scatter_{method}")(rows))
        result[method] = sess.run(r)
        result[f"{method}_read"] = sess.run([r.gather_nd([[1, 0]]), r.sparse_read([1])])
        result[f"{method}_is"] = sess.run(r.is_initialized())


def function(x):
    return tf.get_variable("v", []) + x


template = tf.make_template("foo", function)
template(1.0)
for name in ("non_trainable_variables", "global_variables", "local_variables", "weights"):
    result[name] = [v.name for v in getattr(template, name)]
result["variable_scope_name"] = template.variable_scope_name
result["no_name"] = error_of(lambda: tf.make_template(None, function))

written = tf.TensorArray(tf.float32, 3, clear_after_read=False).write(0, [1.0, 2.0])
result["unwritten"] = run([written.read(1), written.stack()])
pieces = tf.TensorArray(tf.float32, 2, infer_shape=False)
result["pieces"] = run(pieces.split([1.0, 2.0, 3.0], tf.constant([1, 2])).read(1))

one, two = (lambda: tf.constant(1)), (lambda: tf.constant(2))
result["switch_int"] = error_of(lambda: tf.switch_case(1, [one, two]))
result["switch_gap"] = error_of(lambda: tf.switch_case(tf.constant(1), {0: one, 2: two}))
result["switch_twice"] = error_of(lambda: tf.switch_case(tf.constant(1), [(0, one), (0, two)]))
result["no_concat"] = error_of(lambda: tf.concat([], 0))

sparse = tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [3, 4])
result["transposed"] = shape_of(tf.sparse_transpose(sparse))
result["joined"] = shape_of(tf.sparse_concat(0, [sparse, sparse]))
result["two_unknown"] = error_of(lambda: tf.sparse_reshape(sparse, [-1, -1]))
fed = tf.sparse_placeholder(tf.float32, [2, 2])
pair = (np.array([[0, 1]]), np.array([3.0], np.float32))
result["pair"] = run(tf.sparse_tensor_to_dense(fed), {fed: pair})

result["join_none"] = [
    run(tf.reduce_join(tf.constant([], tf.string, shape=shape), axis))
    for shape, axis in (([0, 2], 0), ([2, 0], 1))
]
result["hexadecimal"] = run(tf.string_to_number(["0xF", "1.5"]))
result["bytes_name"] = run(tf.constant(5, name="five").name.encode())
result["list_and_shape"] = shape_of([1] + tf.TensorShape([2]))
result["in_common"] = shape_of(tf.TensorShape([2, 3]).most_specific_compatible_shape([2, 4]))
