# issue 3: finding nodes again, fetching by name, wrong names
x = tf.placeholder(tf.float32, [None, 2], name="x")
y = tf.identity(x * 2.0, name="y")
graph = tf.get_default_graph()
result["by_name"] = [
    graph.get_tensor_by_name("y:0").name,
    graph.get_operation_by_name("x").type,
    graph.as_graph_element("y").name,
    graph.as_graph_element("y:0").name,
]
result["no_colon"] = error_of(lambda: graph.get_tensor_by_name("y"))
result["no_such_tensor"] = error_of(lambda: graph.get_tensor_by_name("z:0"))
result["no_such_output"] = error_of(lambda: graph.get_tensor_by_name("y:3"))
result["no_such_op"] = error_of(lambda: graph.get_operation_by_name("z"))
result["op_for_tensor"] = error_of(lambda: graph.get_operation_by_name("y:0"))
with tf.Session() as sess:
    result["fetched"] = sess.run("y:0", {"x:0": [[1.0, 2.0]]})
    result["fetch_typo"] = error_of(lambda: sess.run("q:0"))
    result["feed_typo"] = error_of(lambda: sess.run(y, {"q:0": 1.0}))
    result["unfed"] = error_of(lambda: sess.run(y))
    result["wrong_shape"] = error_of(lambda: sess.run(y, {x: [[1.0, 2.0, 3.0]]}))
    result["wrong_type"] = error_of(lambda: sess.run(y, {x: [["a", "b"]]}))
result["consumers"] = [op.name for op in x.consumers()]
result["outputs"] = [t.name for t in y.op.inputs]
