# issue 3: a finalized graph refuses new nodes
a = tf.constant(2.0)
b = a * 3.0
graph = tf.get_default_graph()
result["before"] = graph.finalized
graph.finalize()
result["after"] = graph.finalized
result["refused"] = error_of(lambda: tf.constant(1.0))
with tf.Session() as sess:
    result["still_runs"] = sess.run(b)
tf.reset_default_graph()
result["new_graph"] = [
    tf.get_default_graph().finalized,
    len(tf.get_default_graph().get_operations()),
]
