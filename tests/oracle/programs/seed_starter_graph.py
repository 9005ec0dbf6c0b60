# issue 3: the workshop's starter graph
sess = tf.InteractiveSession()
ml_is_fun = tf.constant([6.2, 12.0, 5.9], shape=[1, 3])
python_is_ok_too = tf.constant([9.3, 1.7, 8.8], shape=[3, 1])
matrices_omg = tf.matmul(ml_is_fun, python_is_ok_too)
result["product"] = matrices_omg.eval()
sess.close()
graph = tf.Graph()
m1 = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], dtype=np.float32)
with graph.as_default():
    m1_input = tf.placeholder(tf.float32, shape=[4, 2])
    with tf.device("/cpu:0"):
        m2 = tf.Variable(tf.ones([2, 3]) * 0.5)
        m3 = tf.matmul(m1_input, m2)
        m3 = tf.Print(m3, [m3], message="m3 is: ")
        init = tf.initialize_all_variables()
with tf.Session(graph=graph) as session:
    init.run()
    result["m3"] = session.run([m3], feed_dict={m1_input: m1})
result["devices"] = [op.device for op in graph.get_operations()][:4]
result["names"] = [op.name for op in graph.get_operations()]
