# issue 3: freezing variables and extracting subgraphs
x = tf.placeholder(tf.float32, [None, 2], name="x")
with tf.variable_scope("layer"):
    w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0]]))
    b = tf.get_variable("b", initializer=tf.constant([0.5]))
y = tf.add(tf.matmul(x, w), b, name="y")
other = tf.exp(y, name="other")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(w.assign([[3.0], [4.0]]))
    frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph_def, ["y"])
result["nodes"] = sorted(n.name for n in frozen.node)
result["types"] = sorted({n.op for n in frozen.node if not n.op.startswith("Add")})
with tf.Graph().as_default():
    (out,) = tf.import_graph_def(frozen, return_elements=["y:0"], name="frozen")
    with tf.Session() as sess:
        result["value"] = sess.run(out, {"frozen/x:0": [[1.0, 1.0]]})
sub = tf.graph_util.extract_sub_graph(tf.get_default_graph().as_graph_def(), ["y"])
result["sub"] = "other" in [n.name for n in sub.node]
result["removed"] = len(tf.graph_util.remove_training_nodes(frozen).node) <= len(frozen.node)
meta = tf.train.export_meta_graph()
result["meta"] = [len(meta.graph_def.node) > 0, sorted(meta.collection_def)]
with tf.Graph().as_default():
    tf.train.import_meta_graph(meta)
    result["variables"] = [v.name for v in tf.global_variables()]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        result["imported"] = sess.run("y:0", {"x:0": [[1.0, 1.0]]})
