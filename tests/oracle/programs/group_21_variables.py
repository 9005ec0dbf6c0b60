# issue 16: slices, scatters and initializers of variables
"""Group 21: assignments to slices, methods of variables, getters, initial values."""


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
    result["strided"] = sess.run(v[::2].assign([0.5, 0.25]))
    result["wrong_size"] = error_of(lambda: sess.run(tf.assign(v[0:2], [1.0, 2.0, 3.0])))
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
seen = {}


def remember(getter, *args, **kwargs):
    names = ("trainable", "synchronization", "aggregation")
    seen.update({n: str(kwargs.get(n)) for n in names})
    return getter(*args, **kwargs)


with tf.variable_scope("remembered", custom_getter=remember):
    tf.get_variable("x", [])
result["getter"] = seen


def untrained(getter, *args, **kwargs):
    return getter(*args, **{**kwargs, "trainable": False})


with tf.variable_scope("untrained", custom_getter=untrained):
    cell = tf.nn.rnn_cell.GRUCell(2)
    cell(tf.ones([1, 2]), tf.zeros([1, 2]))
result["untrained"] = [len(cell.trainable_variables), len(cell.variables)]
unknown = tf.Variable([1.0], validate_shape=False)
result["unknown"] = [shape_of(unknown), shape_of(tf.Variable(1.0, shape=tf.TensorShape(None)))]
added = tf.get_variable("res", initializer=1.0, use_resource=True).assign_add(2.0)
result["read_value"] = run(added.read_value())
