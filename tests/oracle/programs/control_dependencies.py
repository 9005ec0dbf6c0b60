# issue 3: order by control edges
v = tf.Variable(1.0, name="v")
add = tf.assign_add(v, 10.0)
with tf.control_dependencies([add]):
    after = tf.identity(v)
    c = tf.constant(3.0)
    nothing = tf.no_op(name="nothing")
before_read = v.read_value()
with tf.control_dependencies([before_read]):
    late_add = tf.assign_add(v, 100.0)
with tf.control_dependencies([late_add]):
    with tf.control_dependencies(None):
        free = tf.constant(5.0)
    nested = tf.constant(6.0)
result["edges"] = [
    [op.name for op in t.op.control_inputs] for t in (after, c, late_add, free, nested)
]
result["nothing"] = [op.name for op in nothing.control_inputs]
with tf.Session() as sess:
    sess.run(v.initializer)
    result["after"] = sess.run(after)
    result["late"] = sess.run([before_read, late_add])[1]
    result["v"] = sess.run(v)
group = tf.group(add, late_add, name="both")
result["group"] = [group.type, sorted(op.name for op in group.control_inputs)]
pair = tf.tuple([add, late_add], name="pair")
result["tuple"] = [t.name for t in pair]
with tf.get_default_graph().control_dependencies([nothing]):
    x = tf.add(c, free, name="x")
result["graph_method"] = [op.name for op in x.op.control_inputs]
