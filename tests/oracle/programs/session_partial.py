# issue 3: partial_run_setup and make_callable
a = tf.placeholder(tf.float32, shape=[])
b = tf.placeholder(tf.float32, shape=[])
r1 = a + b
r2 = r1 * 2.0
with tf.Session() as sess:
    call = sess.make_callable([r1, r2], feed_list=[a, b])
    result["callable"] = call(1.0, 2.0)
    handle = sess.partial_run_setup([r1, r2], [a, b])
    result["first"] = sess.partial_run(handle, r1, feed_dict={a: 1.0, b: 3.0})
    result["second"] = sess.partial_run(handle, r2)
