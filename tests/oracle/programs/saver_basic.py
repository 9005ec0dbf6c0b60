# issue 5: saving and restoring variables
import os

v = tf.Variable([1.0, 2.0], name="v")
w = tf.Variable(5, name="w")
saver = tf.train.Saver()
path = os.path.join(tmp_dir, "model.ckpt")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(v.assign([7.0, 8.0]))
    saved = saver.save(sess, path)
    result["path"] = os.path.basename(saved)
    stepped = saver.save(sess, path, global_step=10)
    result["stepped"] = os.path.basename(stepped)
with tf.Session() as sess:
    saver.restore(sess, saved)
    result["restored"] = sess.run([v, w])
result["latest"] = os.path.basename(tf.train.latest_checkpoint(tmp_dir))
state = tf.train.get_checkpoint_state(tmp_dir)
result["state"] = [
    os.path.basename(state.model_checkpoint_path),
    [os.path.basename(p) for p in state.all_model_checkpoint_paths],
]
result["exists"] = [tf.train.checkpoint_exists(saved), tf.train.checkpoint_exists(path + "-99")]
result["no_state"] = tf.train.get_checkpoint_state(tmp_dir + "/nothing") is None
result["no_latest"] = tf.train.latest_checkpoint(tmp_dir + "/nothing")
with tf.Session() as sess:
    result["missing_file"] = error_of(lambda: saver.restore(sess, tmp_dir + "/other"))
    result["none_path"] = error_of(lambda: saver.restore(sess, None))
with tf.Graph().as_default():
    other = tf.Variable([0.0, 0.0], name="v")
    extra = tf.Variable(1.0, name="extra")
    with tf.Session() as sess:
        result["missing_variable"] = error_of(lambda: tf.train.Saver().restore(sess, saved))
        tf.train.Saver([other]).restore(sess, saved)
        result["part"] = sess.run(other)
with tf.Graph().as_default():
    renamed = tf.Variable([0.0, 0.0], name="renamed")
    with tf.Session() as sess:
        tf.train.Saver({"v": renamed}).restore(sess, saved)
        result["renamed"] = sess.run(renamed)
with tf.Graph().as_default():
    wrong = tf.Variable([0.0, 0.0, 0.0], name="v")
    with tf.Session() as sess:
        result["wrong_shape"] = error_of(lambda: tf.train.Saver().restore(sess, saved))
with tf.Graph().as_default(), tf.Session() as sess:
    result["nothing_to_save"] = error_of(lambda: tf.train.Saver())
    lonely = tf.Variable(1.0, name="lonely")
    result["uninitialized"] = error_of(lambda: tf.train.Saver().save(sess, path + "-un"))
keeper = tf.train.Saver(max_to_keep=2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(4):
        keeper.save(sess, os.path.join(tmp_dir, "keep"), global_step=step)
    result["kept"] = [os.path.basename(p) for p in keeper.last_checkpoints]
listed = tf.train.list_variables(saved) if hasattr(tf.train, "list_variables") else []
result["listed"] = [(name, list(shape)) for name, shape in listed]
reader = tf.train.NewCheckpointReader(saved)
result["reader"] = [
    reader.has_tensor("v"),
    reader.get_tensor("v"),
    sorted(reader.get_variable_to_shape_map()),
]
