# issue 16: run metadata that are used again tell of the last run alone
total = tf.constant(1.0) + 2.0
root = tf.sqrt(total)
metadata = tf.RunMetadata()
options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
with tf.Session() as sess:
    for fetch in (total, root, total):
        sess.run(fetch, options=options, run_metadata=metadata)
        result.setdefault("devices", []).append(len(metadata.step_stats.dev_stats))
    sess.run(total, run_metadata=metadata)
    result["without_options"] = len(metadata.step_stats.dev_stats)
