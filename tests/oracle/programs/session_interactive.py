# issue 3: an interactive session installs itself as the default
sess = tf.InteractiveSession()
a = tf.constant(5.0)
b = tf.constant(6.0)
c = a * b
result["eval"] = c.eval()
w = tf.Variable(tf.zeros([2, 2]), name="weights")
tf.global_variables_initializer().run()
result["w"] = w.eval()
result["is_default"] = tf.get_default_session() is sess
sess.close()
result["no_session"] = error_of(lambda: tf.constant(1.0).eval())
with tf.Session().as_default() as other:
    result["as_default"] = tf.get_default_session() is other
    result["value"] = c.eval()
result["none_left"] = tf.get_default_session() is None or tf.get_default_session() is sess
