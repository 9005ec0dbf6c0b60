# issue 3: gradients of scalars and of nothing
x = tf.Variable(3.0, name="x")
y = tf.Variable(4.0, name="y")
z = x * x * y + y
unused = tf.Variable(1.0)
grads = tf.gradients(z, [x, y, unused])
result["none"] = grads[2] is None
result["names"] = [g.name for g in grads[:2]]
result["shapes"] = [shape_of(g) for g in grads[:2]]
a = tf.constant([1.0, 2.0])
several = tf.gradients([a * 2.0, a * a], a)
seeded = tf.gradients([a * 2.0, a * a], a, grad_ys=[tf.constant([10.0, 20.0]), None])
b = a * 2.0
c = b + a
partial = tf.gradients(c, [a, b], stop_gradients=[a, b])
stopped = tf.gradients(tf.stop_gradient(a * a) * a, a)
integers = tf.gradients(tf.cast(tf.cast(a, tf.int32), tf.float32) * a, a)
through_argmax = tf.gradients(tf.argmax(a), a)
zero = tf.gradients(tf.constant(1.0), a, unconnected_gradients="zero")
prevented = tf.gradients(a * 3.0, a, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)
colocated = tf.gradients(
    a * 3.0, a, colocate_gradients_with_ops=True, gate_gradients=True, name="named"
)
result["argmax"] = through_argmax[0] is None
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["grads"] = sess.run(grads[:2])
    result["several"] = sess.run(several)
    result["seeded"] = sess.run(seeded)
    result["partial"] = sess.run(partial)
    result["stopped"] = sess.run(stopped)
    result["integers"] = sess.run(integers)
    result["zero"] = sess.run(zero)
    result["options"] = sess.run([prevented, colocated])
result["prevent"] = error_of(lambda: tf.gradients(tf.prevent_gradient(a) * 2.0, a))
result["bad_grad_ys"] = error_of(lambda: tf.gradients(a, a, grad_ys=[tf.constant(1, tf.int32)]))
result["wrong_number"] = error_of(lambda: tf.gradients([a, b], a, grad_ys=[None]))
result["single_list"] = isinstance(tf.gradients(b, a), list)
