# issue 3: names of nodes, unique names, name scopes entered again
a = tf.constant(1.0)
b = tf.constant(2.0, name="b")
b2 = tf.constant(3.0, name="b")
with tf.name_scope("layer"):
    c = tf.add(a, b)
    d = tf.add(a, b, name="sum")
    with tf.name_scope("inner") as scope:
        e = tf.multiply(c, d)
        result["scope"] = scope
with tf.name_scope("layer"):
    f = tf.add(a, b)
with tf.name_scope(scope):
    g = tf.negative(f, name="again")
with tf.name_scope(None):
    h = tf.identity(g)
with tf.name_scope("op_scope", "Default", [a, b]) as named:
    result["named"] = named
with tf.name_scope(None, "Default", [a]) as default:
    result["default"] = default
result["tensors"] = [t.name for t in (a, b, b2, c, d, e, f, g, h)]
graph = tf.get_default_graph()
result["unique"] = [graph.unique_name("b"), graph.unique_name("b"), graph.unique_name("new")]
result["peek"] = graph.unique_name("b", mark_as_used=False)
result["bad_name"] = error_of(lambda: tf.constant(1.0, name="no spaces allowed"))
result["bad_scope"] = error_of(lambda: tf.name_scope("a b").__enter__())
