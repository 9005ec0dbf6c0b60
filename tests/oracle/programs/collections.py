# issue 3: collections of a graph
tf.add_to_collection("losses", tf.constant(1.0, name="l1"))
tf.add_to_collection("losses", tf.constant(2.0, name="l2"))
with tf.name_scope("scope"):
    tf.add_to_collection("losses", tf.constant(4.0, name="l3"))
total = tf.add_n(tf.get_collection("losses"), name="total")
tf.add_to_collections(["a", "b"], 5)
result["names"] = [t.name for t in tf.get_collection("losses")]
result["scope"] = [t.name for t in tf.get_collection("losses", scope="scope")]
result["missing"] = tf.get_collection("nothing")
result["both"] = [tf.get_collection("a"), tf.get_collection("b")]
ref = tf.get_collection_ref("c")
ref.append(3)
result["ref"] = tf.get_collection("c")
copy = tf.get_collection("a")
copy.append(1)
result["copy"] = tf.get_collection("a")
graph = tf.get_default_graph()
result["keys"] = sorted(graph.get_all_collection_keys())
graph.clear_collection("a")
result["cleared"] = tf.get_collection("a")
keys = tf.GraphKeys
result["graph_keys"] = [
    keys.GLOBAL_VARIABLES,
    keys.LOCAL_VARIABLES,
    keys.TRAINABLE_VARIABLES,
    keys.MODEL_VARIABLES,
    keys.SUMMARIES,
    keys.QUEUE_RUNNERS,
    keys.UPDATE_OPS,
    keys.LOSSES,
    keys.REGULARIZATION_LOSSES,
    keys.GLOBAL_STEP,
    keys.TABLE_INITIALIZERS,
    keys.WEIGHTS,
    keys.BIASES,
    keys.ACTIVATIONS,
    keys.MOVING_AVERAGE_VARIABLES,
    keys.SAVERS,
    keys.INIT_OP,
    keys.LOCAL_INIT_OP,
    keys.READY_OP,
    keys.TRAIN_OP,
    keys.SUMMARY_OP,
    keys.COND_CONTEXT,
    keys.WHILE_CONTEXT,
    keys.ASSET_FILEPATHS,
    keys.EVAL_STEP,
]
with tf.Session() as sess:
    result["total"] = sess.run(total)
