# issue 5: summary protos and event files
# tolerance 1e-4
import glob
import os

x = tf.constant([1.0, 2.0, 2.0, 5.0])
scalar = tf.summary.scalar("loss", tf.reduce_mean(x))
histogram = tf.summary.histogram("weights", x)
image = tf.summary.image("picture", tf.reshape(tf.range(48.0), [1, 4, 4, 3]) / 48.0, max_outputs=1)
with tf.name_scope("scope"):
    scoped = tf.summary.scalar("inner", 3.0)
text = tf.summary.text("note", tf.constant("hello"))
merged = tf.summary.merge_all()
some = tf.summary.merge([scalar, scoped])
extra = tf.summary.scalar("extra", 1.0, collections=["mine"])
result["keys"] = [t.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)]
result["names"] = [merged.name, some.name, scalar.name]
result["none"] = tf.summary.merge_all("nothing") is None
folder = os.path.join(tmp_dir, "logs")
with tf.Session() as sess:
    value = tf.Summary.FromString(sess.run(scalar)).value[0]
    result["scalar"] = [value.tag, value.simple_value]
    h = tf.Summary.FromString(sess.run(histogram)).value[0]
    result["histogram"] = [
        h.tag,
        h.histo.num,
        h.histo.sum,
        h.histo.min,
        h.histo.max,
        h.histo.sum_squares,
    ]
    result["buckets"] = [list(h.histo.bucket_limit), list(h.histo.bucket)]
    im = tf.Summary.FromString(sess.run(image)).value[0]
    result["image"] = [
        im.tag,
        im.image.height,
        im.image.width,
        im.image.colorspace,
        im.image.encoded_image_string[:4],
    ]
    result["tags"] = sorted(v.tag for v in tf.Summary.FromString(sess.run(merged)).value)
    result["some"] = [v.tag for v in tf.Summary.FromString(sess.run(some)).value]
    writer = tf.summary.FileWriter(folder, sess.graph)
    writer.add_summary(sess.run(scalar), 7)
    writer.add_summary(sess.run(scalar), global_step=8)
    made = tf.Summary(value=[tf.Summary.Value(tag="made", simple_value=0.5)])
    writer.add_summary(made, 9)
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
    writer.flush()
    writer.close()
files = glob.glob(folder + "/events*")
result["files"] = len(files)
events = list(tf.train.summary_iterator(files[0]))
result["version"] = events[0].file_version
result["steps"] = [(e.step, v.tag, v.simple_value) for e in events for v in e.summary.value]
result["has_graph"] = [bool(e.graph_def) for e in events].count(True)
graph = next(tf.GraphDef.FromString(e.graph_def) for e in events if e.graph_def)
result["graph_nodes"] = len(graph.node) > 5
result["bad_value"] = error_of(lambda: tf.summary.scalar("bad", tf.constant("text")))
with tf.Session() as sess:
    result["not_scalar"] = error_of(lambda: sess.run(tf.summary.scalar("vector", x)))
result["bad_name"] = tf.summary.scalar("with spaces", 1.0).name
