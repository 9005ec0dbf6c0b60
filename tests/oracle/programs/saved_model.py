# issue 5: simple_save and loading it again
import os

x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.Variable([[1.0], [2.0]], name="w")
y = tf.matmul(x, w, name="y")
folder = os.path.join(tmp_dir, "saved")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(w.assign([[3.0], [4.0]]))
    tf.saved_model.simple_save(sess, folder, inputs={"x": x}, outputs={"y": y})
result["exists"] = tf.saved_model.loader.maybe_saved_model_directory(folder)
with tf.Session(graph=tf.Graph()) as sess:
    meta = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder)
    key = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    signature = meta.signature_def[key]
    result["signature"] = [
        key,
        signature.inputs["x"].name,
        signature.outputs["y"].name,
        signature.method_name,
    ]
    result["value"] = sess.run("y:0", {"x:0": [[1.0, 1.0]]})
builder = tf.saved_model.builder.SavedModelBuilder(os.path.join(tmp_dir, "other"))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    definition = tf.saved_model.signature_def_utils.predict_signature_def({"in": x}, {"out": y})
    builder.add_meta_graph_and_variables(sess, ["mine"], {"sig": definition})
    builder.save()
with tf.Session(graph=tf.Graph()) as sess:
    meta = tf.saved_model.loader.load(sess, ["mine"], os.path.join(tmp_dir, "other"))
    result["other"] = [sorted(meta.signature_def), sess.run("y:0", {"x:0": [[1.0, 1.0]]})]
    result["wrong_tag"] = error_of(
        lambda: tf.saved_model.loader.load(sess, ["nothing"], os.path.join(tmp_dir, "other"))
    )
