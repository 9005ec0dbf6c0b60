# issue 3: session handles and reset
a = tf.constant([1.0, 2.0])
handle = tf.get_session_handle(a * 3.0)
with tf.Session() as sess:
    kept = sess.run(handle)
    holder, tensor = tf.get_session_tensor(kept.handle, tf.float32)
    result["kept"] = sess.run(tensor + 1.0, feed_dict={holder: kept.handle})
    result["eval"] = kept.eval()
    kept.delete()
v = tf.Variable(3.0)
with tf.Session() as sess:
    sess.run(v.initializer)
    result["v"] = sess.run(v)
