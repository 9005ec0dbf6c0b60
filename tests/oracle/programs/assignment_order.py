# issue 3: assignments ordered by control dependencies
x = tf.Variable(1.0, name="x")
y = tf.Variable(10.0, name="y")
read_y = y.read_value()
with tf.control_dependencies([read_y]):
    double = tf.assign(x, x * 2.0)
with tf.control_dependencies([double]):
    into_y = tf.assign(y, x + 0.0)
with tf.control_dependencies([into_y]):
    final = tf.identity(x.read_value() + y.read_value())
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["steps"] = [sess.run(final) for _ in range(3)]
    result["xy"] = sess.run([x, y])
counter = tf.Variable(0, name="counter")
counted = tf.count_up_to(counter, 3)
with tf.Session() as sess:
    sess.run(counter.initializer)
    result["count"] = [sess.run(counted) for _ in range(3)]
    result["count_end"] = error_of(lambda: sess.run(counted))
    result["method"] = error_of(lambda: sess.run(counter.count_up_to(3)))
chain = tf.Variable(1.0, name="chain")
first = chain.assign_add(1.0)
second = tf.assign_add(first, 10.0) if first.dtype._is_ref_dtype else first
with tf.Session() as sess:
    sess.run(chain.initializer)
    result["chained"] = sess.run(second)
