# issue 16: meta graphs in a name scope, without variables, with savers, without defaults
import os

with tf.Graph().as_default():
    tf.placeholder(tf.float32, [], name="image")
    plain = tf.train.export_meta_graph()
with tf.Graph().as_default() as graph, tf.name_scope("m"):
    tf.train.import_meta_graph(plain)
    result["in_scope"] = [op.name for op in graph.get_operations()]
with tf.Graph().as_default():
    v = tf.Variable(2.0, name="v")
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, f"{tmp_dir}/model")
    meta = tf.train.export_meta_graph()
    result["debug_string"] = tf.train.NewCheckpointReader(path).debug_string().decode()
with tf.Graph().as_default(), tf.name_scope("m"):
    saver = tf.train.import_meta_graph(f"{path}.meta")
    with tf.Session() as sess:
        saver.restore(sess, path)
        result["restored_in_scope"] = sess.run("m/v:0")
result["num_savers"] = len(meta.collection_def["savers"].bytes_list.value)
with tf.Graph().as_default():
    tf.train.import_meta_graph(meta)
    result["savers"] = [type(s).__name__ for s in tf.get_collection(tf.GraphKeys.SAVERS)]
    with tf.Session() as sess:
        tf.get_collection(tf.GraphKeys.SAVERS)[0].restore(sess, path)
        result["restored_by_collection"] = sess.run("v:0")
with tf.Graph().as_default():
    tf.constant(1)
    saver = tf.train.Saver(allow_empty=True)
    with tf.Session() as sess:
        result["empty"] = saver.save(sess, f"{tmp_dir}/empty")
    result["empty_files"] = [f for f in os.listdir(tmp_dir) if f.startswith("empty")]
with tf.Graph().as_default():
    tf.nn.conv2d(tf.ones([1, 3, 3, 1]), tf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME", name="c")
    stripped = tf.train.export_meta_graph(strip_default_attrs=True)
(node,) = [n for n in stripped.graph_def.node if n.name == "c"]
result["stripped"] = [sorted(node.attr), stripped.meta_info_def.stripped_default_attrs]
with tf.Graph().as_default() as graph:
    tf.import_graph_def(stripped.graph_def, name="")
    result["defaults_again"] = graph.get_operation_by_name("c").get_attr("data_format").decode()
