# issue 3: the first graphs of the lecture slides
a = tf.add(3, 5)
result["repr"] = str(a)
result["inputs"] = [t.name for t in a.op.inputs]
x = 2
y = 3
op1 = tf.add(x, y)
op2 = tf.multiply(x, y)
useless = tf.multiply(x, op1)
op3 = tf.pow(op2, op1)
with tf.Session() as sess:
    result["a"] = sess.run(a)
    result["pow"] = sess.run(op3)
result["names"] = [op.name for op in tf.get_default_graph().get_operations()]
result["types"] = [op.type for op in tf.get_default_graph().get_operations()]
