# issue 16: what TensorFlow 1.15's tests of graphs, templates and slices ask for
import collections

x = tf.constant(1.0, name="x")
y = tf.add(x, x, name="y")
result["consumers"] = [op.name for op in x.consumers()]

ordered = collections.OrderedDict([("d", 3), ("b", 1)])
result["views"] = [tf.nest.flatten(ordered.values()), tf.nest.flatten(ordered.items())]
result["not packed"] = error_of(lambda: tf.nest.pack_sequence_as([4, 5], "xy"))


def linear(value):
    return value * tf.get_variable("w", [], initializer=tf.ones_initializer())


line = tf.make_template("line", linear)
line(1.0)
with tf.variable_scope("elsewhere"):
    line(2.0)
result["template"] = [v.name for v in line.variables]
fresh = tf.make_template("fresh", lambda: tf.Variable(1.0))
fresh()
result["a variable more"] = error_of(fresh)

S = tf.VariableSynchronization
result["on read"] = tf.Variable(1.0, synchronization=S.ON_READ, trainable=True).trainable
result["whole shape"] = tf.zeros(tf.constant([1, 2])[...]).shape.ndims
result["unconnected"] = error_of(lambda: tf.gradients(y, x, unconnected_gradients="nonsense"))

v = tf.Variable(tf.zeros([2, 3]))
empty = v[8:10, 8:10].assign([[]])
with tf.Session() as session:
    session.run(v.initializer)
    result["nothing assigned"] = session.run(empty)
    array = tf.TensorArray(tf.float32, size=1, infer_shape=False).write(0, 1.0)
    result["scalars joined"] = error_of(lambda: session.run(array.concat()))
