# issue 16: a state as a key of feed_dict, d.values() as var_list, what a saver saves

first = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([2, 3]), tf.ones([2, 3]) * 2.0)
second = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([2, 3]) * 3.0, tf.ones([2, 3]) * 4.0)
state = (first, second)
with tf.Session() as sess:
    values = sess.run(state)
    result["pair"] = sess.run(first.c * 10.0, {first: values[1]})
    result["nested"] = sess.run([first.h, second.h], {state: (values[1], values[0])})
    result["too many"] = error_of(lambda: sess.run(first.h, {first: (values[0][0],) * 3}))

weights = {"a": tf.Variable(1.0, name="a"), "b": tf.Variable(2.0, name="b")}
loss = weights["a"] * weights["a"] + weights["b"]
step = tf.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=weights.values())
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(step)
    result["after a step"] = sess.run([weights["a"], weights["b"]])

saver = tf.train.Saver()
result["saved"] = sorted(v.op.name for v in saver._var_list)
result["constant with a shape"] = error_of(
    lambda: tf.get_variable("v", shape=[2, 3], initializer=False)
)

gray = tf.image.rgb_to_grayscale(tf.placeholder(tf.float32, name="picture"))
with tf.Session() as sess:
    picture = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    result["gray"] = sess.run(gray, {"picture:0": picture})
