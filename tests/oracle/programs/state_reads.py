# issue 3: what a run sees of variables that the same run writes
v = tf.Variable(1.0, name="v")
read = v.read_value()
with tf.control_dependencies([read]):
    write = tf.assign(v, 5.0)
with tf.control_dependencies([write]):
    after = v.read_value()
copied = tf.Variable(v.initialized_value() + 1.0, name="copied")
swap_a, swap_b = tf.Variable(1.0), tf.Variable(2.0)
with tf.control_dependencies([swap_a + 0.0, swap_b + 0.0]):
    pass
old_a, old_b = swap_a + 0.0, swap_b + 0.0
with tf.control_dependencies([old_a, old_b]):
    swap = tf.group(tf.assign(swap_a, old_b), tf.assign(swap_b, old_a))
counter = tf.Variable(0, name="counter")
ticks = [tf.assign_add(counter, 1) for _ in range(5)]
with tf.control_dependencies(ticks):
    total = counter.read_value()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["order"] = sess.run([read, after])[0:1] if False else [sess.run(after), sess.run(v)]
    result["copied"] = sess.run(copied)
    sess.run(swap)
    result["swapped"] = sess.run([swap_a, swap_b])
    result["total"] = [sess.run(total), sess.run(total)]
    result["assign_returns"] = sess.run(v.assign(7.0))
    result["session_state"] = sess.run(v + 0.0)
with tf.Session() as other:
    other.run(tf.variables_initializer([v]))
    result["own_state"] = other.run(v)
