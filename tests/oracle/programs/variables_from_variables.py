# issue 3: one variable's first value from another's
w = tf.Variable([2.0, 3.0], name="w")
u = tf.Variable(w.initialized_value() * 2.0, name="u")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["values"] = sess.run([w, u])
local = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")
both = tf.get_variable("both", shape=[2], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
result["local"] = [v.name for v in tf.local_variables()]
result["global"] = [v.name for v in tf.global_variables()]
result["mine"] = [v.name for v in tf.get_collection("mine")]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["local_uninitialized"] = error_of(lambda: sess.run(local))
    sess.run(tf.local_variables_initializer())
    result["local_value"] = sess.run(local)
    sess.run(tf.variables_initializer([w, u], name="some"))
    sess.run(tf.initialize_variables([w]))
    result["again"] = sess.run(u)
result["names"] = [
    tf.initialize_all_variables().name,
    tf.variables_initializer([w], name="some").name,
]
result["model_variables"] = len(tf.model_variables())
