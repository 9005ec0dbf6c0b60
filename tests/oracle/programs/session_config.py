# issue 3: ConfigProto and the options course code sets
config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
config.gpu_options.allow_growth = True
config.gpu_options.per_process_gpu_memory_fraction = 0.4
config.intra_op_parallelism_threads = 2
config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.OFF
result["fields"] = [config.allow_soft_placement, config.gpu_options.allow_growth]
result["gpu"] = tf.GPUOptions(allow_growth=True).allow_growth
with tf.Session(config=config) as sess:
    result["value"] = sess.run(tf.constant(1) + 1)
with tf.Session("", config=tf.ConfigProto(device_count={"GPU": 0})) as sess:
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    result["traced"] = sess.run(tf.constant(2) * 3, options=options, run_metadata=metadata)
    result["has_stats"] = len(metadata.step_stats.dev_stats) > 0
