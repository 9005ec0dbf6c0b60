# issue 3: two graphs do not mix
g1 = tf.Graph()
g2 = tf.Graph()
with g1.as_default():
    a = tf.constant(1.0, name="a")
    result["is_default"] = tf.get_default_graph() is g1
with g2.as_default():
    b = tf.constant(2.0, name="a")
result["belongs"] = [a.graph is g1, b.graph is g2, a.graph is b.graph]
result["mixed"] = error_of(lambda: tf.add(a, b))
with tf.Session(graph=g1) as sess:
    result["value"] = sess.run(a)
    result["foreign"] = error_of(lambda: sess.run(b))
    result["session_graph"] = sess.graph is g1
result["closed"] = error_of(lambda: sess.run(a))
with tf.Session(graph=tf.Graph()) as empty:
    result["by_name"] = error_of(lambda: empty.run("a:0"))
result["default_restored"] = tf.get_default_graph() is not g1
