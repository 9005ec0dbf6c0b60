# issue 3: GraphDef out and in
x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.constant([[1.0], [2.0]], name="w")
y = tf.nn.relu(tf.matmul(x, w), name="y")
with tf.control_dependencies([y]):
    z = tf.identity(y, name="z")
graph_def = tf.get_default_graph().as_graph_def()
result["nodes"] = [(n.name, n.op, list(n.input)) for n in graph_def.node]
result["attrs"] = [sorted(a for a in n.attr if a[0] != "_") for n in graph_def.node]
text = graph_def.SerializeToString()
result["bytes"] = isinstance(text, bytes)
tf.train.write_graph(graph_def, tmp_dir, "graph.pbtxt", as_text=True)
tf.train.write_graph(graph_def, tmp_dir, "graph.pb", as_text=False)
loaded = tf.GraphDef()
with open(tmp_dir + "/graph.pb", "rb") as f:
    loaded.ParseFromString(f.read())
result["same"] = loaded == graph_def
with tf.Graph().as_default() as graph:
    (out,) = tf.import_graph_def(loaded, return_elements=["y:0"])
    result["default_prefix"] = [op.name for op in graph.get_operations()]
    with tf.Session() as sess:
        result["value"] = sess.run(out, {"import/x:0": [[1.0, 1.0]]})
with tf.Graph().as_default() as graph:
    mine = tf.constant([[5.0, 6.0]])
    op, out = tf.import_graph_def(
        loaded, input_map={"x:0": mine}, return_elements=["y", "z:0"], name=""
    )
    result["no_prefix"] = [op.name for op in graph.get_operations()]
    result["returned"] = [op.name, out.name, shape_of(out)]
    with tf.Session() as sess:
        result["mapped"] = sess.run(out)
with tf.Graph().as_default():
    result["missing"] = error_of(lambda: tf.import_graph_def(loaded, return_elements=["nothing:0"]))
    result["bad_map"] = error_of(
        lambda: tf.import_graph_def(loaded, input_map={"nothing:0": tf.constant(1.0)})
    )
    bad = tf.GraphDef()
    bad.CopyFrom(loaded)
    bad.node[1].op = "NoSuchOp"
    result["unknown_op"] = error_of(lambda: tf.import_graph_def(bad))
    dangling = tf.GraphDef()
    dangling.CopyFrom(loaded)
    del dangling.node[0]
    result["dangling"] = error_of(lambda: tf.import_graph_def(dangling))
    result["truncated"] = error_of(lambda: tf.GraphDef().ParseFromString(text[: len(text) // 2]))
    result["not_graph_def"] = error_of(lambda: tf.import_graph_def("hello"))
