# issue 16: control flow that came with a meta graph
"""Group 23: gradients of control flow that was imported."""


def roundtrip(build):
    with tf.Graph().as_default():
        build()
        meta = tf.train.export_meta_graph()
    return meta


def loop():
    x = tf.placeholder(tf.float32, [], name="x")
    r = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (tf.constant(0), x))
    tf.identity(r[1], name="y")


meta = roundtrip(loop)
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(meta)
    x, y = g.get_tensor_by_name("x:0"), g.get_tensor_by_name("y:0")
    grad = tf.gradients(y, x)
    with tf.Session() as sess:
        result["loop"] = sess.run([y, grad[0]], {x: 2.0})
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(meta, import_scope="m")
    x, y = g.get_tensor_by_name("m/x:0"), g.get_tensor_by_name("m/y:0")
    grad = tf.gradients(y, x)
    with tf.Session() as sess:
        result["loop_scope"] = sess.run([y, grad[0]], {x: 2.0})


def branch():
    x = tf.placeholder(tf.float32, [], name="x")
    r = tf.cond(x > 1.0, lambda: x * x, lambda: 3.0 * x)
    tf.identity(r, name="y")


meta = roundtrip(branch)
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(meta)
    x, y = g.get_tensor_by_name("x:0"), g.get_tensor_by_name("y:0")
    grad = tf.gradients(y, x)
    with tf.Session() as sess:
        result["branch"] = sess.run([y, grad[0]], {x: 2.0}) + sess.run([y, grad[0]], {x: 0.5})


def nested():
    x = tf.placeholder(tf.float32, [], name="x")
    r = tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.cond(tf.equal(i, 1), lambda: a * x, lambda: a + x)),
        (tf.constant(0), x),
    )
    tf.identity(r[1], name="y")


meta = roundtrip(nested)
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(meta)
    x, y = g.get_tensor_by_name("x:0"), g.get_tensor_by_name("y:0")
    grad = tf.gradients(y, x)
    with tf.Session() as sess:
        result["nested"] = sess.run([y, grad[0]], {x: 2.0})


def rnn():
    x = tf.placeholder(tf.float32, [None, 4, 3], name="x")
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    out, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    tf.reduce_sum(out, name="y")


with tf.Graph().as_default() as g:
    rnn()
    tf.train.Saver()
    meta = tf.train.export_meta_graph()
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(meta)
    opt = tf.train.GradientDescentOptimizer(0.1).minimize(g.get_tensor_by_name("y:0"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run("y:0", {"x:0": np.ones([2, 4, 3])})
        sess.run(opt, {"x:0": np.ones([2, 4, 3])})
        after = sess.run("y:0", {"x:0": np.ones([2, 4, 3])})
        result["rnn"] = bool(after < before)


def nested_loops():
    x = tf.placeholder(tf.float32, [], name="x")

    def outer(i, a):
        return i + 1, tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * x), (0, a))[1]

    r = tf.while_loop(lambda i, a: i < 2, outer, (tf.constant(0), x))
    tf.identity(r[1], name="y")


meta = roundtrip(nested_loops)
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(meta)
    x, y = g.get_tensor_by_name("x:0"), g.get_tensor_by_name("y:0")
    grad = tf.gradients(y, x)
    with tf.Session() as sess:
        result["nested_loops"] = sess.run([y, grad[0]], {x: 2.0})


with tf.Graph().as_default() as g:
    loop()
    branch_of = tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
    meta = tf.train.export_meta_graph()
    result["collections"] = sorted(meta.collection_def)
    contexts = [
        tf.get_collection(k) for k in (tf.GraphKeys.COND_CONTEXT, tf.GraphKeys.WHILE_CONTEXT)
    ]
    result["counts"] = [len(c) for c in contexts]
    kinds = [meta.collection_def[k].WhichOneof("kind") for k in ("cond_context", "while_context")]
    result["kinds"] = kinds
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(meta)
    again = tf.train.export_meta_graph()
    result["again"] = [
        len(again.collection_def[k].bytes_list.value) for k in ("cond_context", "while_context")
    ]
with tf.Graph().as_default() as g:
    tf.train.import_meta_graph(again, import_scope="twice")
    x, y = g.get_tensor_by_name("twice/x:0"), g.get_tensor_by_name("twice/y:0")
    with tf.Session() as sess:
        result["twice"] = sess.run([y, tf.gradients(y, x)[0]], {x: 2.0})


def arrays():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.scan(lambda a, v: a * v, x)
    tf.reduce_sum(tf.map_fn(lambda v: v * v, y), name="y")


def captured():
    x = tf.placeholder(tf.float32, [], name="x")
    w = tf.get_variable("w", initializer=3.0)
    body = lambda i, a: (i + 1, a * w + x)
    tf.identity(tf.while_loop(lambda i, a: a < 50.0, body, (0, x))[1], name="y")


def cond_in_cond():
    x = tf.placeholder(tf.float32, [], name="x")
    inner = lambda: tf.cond(x > 2.0, lambda: x * x, lambda: -x)
    tf.identity(tf.cond(x > 1.0, inner, lambda: 3.0 * x), name="y")


for build, fed in (
    (arrays, [[1.0, 2.0, 3.0], [2.0]]),
    (captured, [1.0, 30.0, 60.0]),
    (cond_in_cond, [3.0, 1.5, 0.5]),
):
    name = build.__name__
    with tf.Graph().as_default():
        build()
        tf.gradients("y:0", "x:0") if False else None
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default() as g:
        tf.train.import_meta_graph(meta)
        x, y = g.get_tensor_by_name("x:0"), g.get_tensor_by_name("y:0")
        grads = tf.gradients(y, [x, *tf.trainable_variables()])
        further = tf.gradients(tf.cond(y > 0, lambda: y * 2.0, lambda: y), x)[0]
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for i, value in enumerate(fed):
                result[f"{name} {i}"] = sess.run([y, *grads, further], {x: value})
with tf.Graph().as_default():
    loop()
    definition = tf.get_default_graph().as_graph_def()
with tf.Graph().as_default() as g:
    tf.import_graph_def(definition, name="")
    with tf.Session() as sess:
        result["plain_import"] = sess.run("y:0", {"x:0": 2.0})
