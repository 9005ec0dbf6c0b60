# issue 5: a model rebuilt from its meta graph
import os

x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.Variable([[1.0], [2.0]], name="w")
y = tf.matmul(x, w, name="y")
loss = tf.reduce_mean(tf.square(y - 1.0), name="loss")
train = tf.train.AdamOptimizer(0.1).minimize(loss, name="train")
tf.add_to_collection("outputs", y)
saver = tf.train.Saver()
prefix = os.path.join(tmp_dir, "model")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {x: [[1.0, 1.0]]})
    saver.save(sess, prefix, global_step=1)
    result["first"] = sess.run(y, {x: [[1.0, 1.0]]})
    sess.run(train, {x: [[1.0, 1.0]]})
    result["second"] = sess.run(y, {x: [[1.0, 1.0]]})
result["files"] = os.path.exists(prefix + "-1.meta")
tf.reset_default_graph()
with tf.Session() as sess:
    again = tf.train.import_meta_graph(prefix + "-1.meta")
    again.restore(sess, tf.train.latest_checkpoint(tmp_dir))
    graph = tf.get_default_graph()
    feed = {graph.get_tensor_by_name("x:0"): [[1.0, 1.0]]}
    result["restored"] = sess.run(tf.get_collection("outputs")[0], feed)
    sess.run(graph.get_operation_by_name("train"), feed)
    result["continued"] = sess.run("y:0", feed)
    result["variables"] = [v.name for v in tf.global_variables()]
    result["trainable"] = [v.name for v in tf.trainable_variables()]
result["missing"] = error_of(lambda: tf.train.import_meta_graph(prefix + "-none.meta"))
