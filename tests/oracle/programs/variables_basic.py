# issue 3: creating, initializing, reading and assigning variables
v = tf.Variable([1.0, 2.0], name="v")
w = tf.Variable(tf.ones([2, 2]) * 3.0, name="w", trainable=False)
k = tf.Variable(0, dtype=tf.int64, name="k")
unnamed = tf.Variable(1.0)
unnamed2 = tf.Variable(2.0)
result["names"] = [x.name for x in (v, w, k, unnamed, unnamed2)]
result["ops"] = [v.op.name, v.initializer.name, v.value().name, v.initial_value.name]
result["types"] = [v.op.type, v.initializer.type]
result["graph"] = [
    (op.name, [t.name for t in op.inputs]) for op in tf.get_default_graph().get_operations()
]
result["shapes"] = [shape_of(v), shape_of(w), shape_of(k)]
result["trainable"] = [x.name for x in tf.trainable_variables()]
result["global"] = [x.name for x in tf.global_variables()]
result["all"] = [x.name for x in tf.all_variables()]
init = tf.global_variables_initializer()
result["init"] = [init.name, init.type]
with tf.Session() as sess:
    result["uninitialized"] = error_of(lambda: sess.run(v))
    result["uninitialized_assign_add"] = error_of(lambda: sess.run(v.assign_add([1.0, 1.0])))
    result["report"] = sess.run(tf.report_uninitialized_variables())
    result["is"] = sess.run(tf.is_variable_initialized(v))
    sess.run(init)
    result["is_after"] = sess.run(tf.is_variable_initialized(v))
    result["assign"] = sess.run(v.assign([5.0, 6.0]))
    result["add"] = sess.run(v.assign_add([1.0, 1.0]))
    result["sub"] = sess.run(tf.assign_sub(v, [0.5, 0.5]))
    result["k"] = sess.run([k.assign_add(5), k])[0]
    v.load([9.0, 9.0], sess)
    result["loaded"] = v.eval(sess)
    result["reinit"] = sess.run([v.initializer, w])[1]
    result["after_reinit"] = sess.run(v)
    result["wrong_shape"] = error_of(lambda: v.assign([1.0, 2.0, 3.0]))
    result["wrong_dtype"] = error_of(lambda: v.assign(tf.constant([1, 2])))
    resized = tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    result["resized"] = sess.run(resized)
    result["operators"] = sess.run([w + 1.0, 2.0 * w, -w, w[0], tf.matmul(w, w)])
with tf.Session() as second:
    result["second_session"] = error_of(lambda: second.run(v))
result["no_value"] = error_of(lambda: tf.Variable(None))
result["callable"] = tf.Variable(lambda: tf.constant(4.0), name="callable", dtype=tf.float32).name
result["initialized_value"] = unnamed.initialized_value().dtype.name
result["repr"] = repr(v)
