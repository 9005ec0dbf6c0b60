# issue 3: variable scopes, reuse and what is refused
with tf.variable_scope("foo"):
    v = tf.get_variable("v", [1])
    result["default_reuse"] = tf.get_variable_scope().reuse
with tf.variable_scope("foo", reuse=True):
    v1 = tf.get_variable("v", [1])
result["same"] = v is v1
with tf.variable_scope("foo") as scope:
    b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
    scope.reuse_variables()
    b2 = tf.get_variable("b", [2])
result["same_after_reuse"] = b is b2


def again():
    with tf.variable_scope("foo"):
        tf.get_variable("v", [1])


def missing():
    with tf.variable_scope("foo", reuse=True):
        tf.get_variable("nothing", [1])


def other_shape():
    with tf.variable_scope("foo", reuse=True):
        tf.get_variable("v", [2])


def other_dtype():
    with tf.variable_scope("foo", reuse=True):
        tf.get_variable("v", [1], dtype=tf.float64)


result["errors"] = [error_of(f) for f in (again, missing, other_shape, other_dtype)]
result["no_shape"] = error_of(lambda: tf.get_variable("no_shape"))
with tf.variable_scope("foo", reuse=tf.AUTO_REUSE):
    c = tf.get_variable("c", [3])
    c2 = tf.get_variable("c", [3])
result["auto"] = [c is c2, c.name]
with tf.variable_scope("a"):
    with tf.variable_scope("b"):
        d = tf.get_variable("d", initializer=tf.constant([1.0, 2.0]))
        e = d * 2.0
    with tf.variable_scope("b"):
        f = tf.identity(e)
result["nested"] = [d.name, e.name, f.name]
with tf.variable_scope("jumped") as scope:
    pass
with tf.variable_scope(scope):
    g = tf.get_variable("g", [1])
    h = tf.identity(g)
result["jump"] = [g.name, h.name, scope.name, scope.original_name_scope]
with tf.variable_scope("unique"):
    with tf.variable_scope(None, default_name="layer"):
        i = tf.get_variable("i", [1])
    with tf.variable_scope(None, default_name="layer"):
        j = tf.get_variable("j", [1])
result["default_name"] = [i.name, j.name]
with tf.name_scope("ns"):
    k = tf.get_variable("k", [1])
    l = tf.Variable(1.0, name="l")
    with tf.variable_scope("vs"):
        m = tf.get_variable("m", [1])
        n = tf.identity(m)
result["name_scope"] = [k.name, l.name, m.name, n.name]
result["all"] = [x.name for x in tf.global_variables()]
with tf.variable_scope("init", initializer=tf.constant_initializer(0.4), dtype=tf.float64):
    o = tf.get_variable("o", [2])
    with tf.variable_scope("more", initializer=tf.constant_initializer(0.2)):
        p = tf.get_variable("p", [1])
    with tf.variable_scope("same"):
        q = tf.get_variable("q", [1])
result["inherited_dtype"] = [o.dtype.base_dtype.name, p.dtype.base_dtype.name]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["values"] = sess.run([o, p, q, d, b])
result["collection"] = [
    x.name for x in tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="a")
]
with tf.variable_scope("reg", regularizer=lambda w: tf.reduce_sum(w) * 0.5):
    r = tf.get_variable("r", [2], initializer=tf.ones_initializer())
losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
result["regularization"] = [len(losses), losses[0].op.name.split("/")[0]]
result["int_default"] = tf.get_variable("int_default", [2], dtype=tf.int32).dtype.base_dtype.name
