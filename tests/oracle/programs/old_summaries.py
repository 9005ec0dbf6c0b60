# issue 5: summaries as they were spelled before 1.0
import glob

x = tf.placeholder(tf.float32, [None])
tf.scalar_summary("loss", tf.reduce_mean(x))
tf.histogram_summary("weights", x)
merged = tf.merge_all_summaries()
one = tf.merge_summary([tf.scalar_summary("extra", 2.0)])
with tf.Session() as sess:
    writer = tf.train.SummaryWriter(tmp_dir, sess.graph)
    for step in range(3):
        writer.add_summary(sess.run(merged, {x: [step, 1.0]}), step)
    writer.close()
    result["one"] = tf.Summary.FromString(sess.run(one)).value[0].simple_value
events = list(tf.train.summary_iterator(glob.glob(tmp_dir + "/*")[0]))
result["steps"] = [
    (e.step, v.tag, v.simple_value) for e in events for v in e.summary.value if v.tag == "loss"
]
