# issue 3: device strings, nesting, functions, and devices that are not there
with tf.device("/cpu:0"):
    a = tf.constant(1.0)
    with tf.device("/gpu:1"):
        b = tf.constant(2.0)
    with tf.device(None):
        c = tf.constant(3.0)
with tf.device("/job:ps/task:3"):
    with tf.device("/cpu:0"):
        d = tf.Variable(1.0)
with tf.device(lambda op: "/cpu:7" if op.type == "Const" else "/gpu:2"):
    e = tf.constant(1.0)
    f = tf.identity(e)
with tf.device("/device:GPU:0"):
    g = tf.constant(1.0)
with tf.device(tf.DeviceSpec(job="worker", device_type="CPU", device_index=0)):
    h = tf.constant(1.0)
with tf.device(d.op.device):
    with tf.get_default_graph().colocate_with(g.op):
        i = tf.constant(1.0)
result["devices"] = [t.device for t in (a, b, c, d, g, h)]
result["from_function"] = [e.device, f.device]
result["colocated"] = [
    i.device,
    [group.decode() if isinstance(group, bytes) else group for group in i.op.colocation_groups()],
]
result["bad"] = error_of(lambda: tf.device("/no such device").__enter__() or tf.constant(1.0))
tf.reset_default_graph()
spec = tf.DeviceSpec.from_string("/job:w/replica:0/task:1/device:CPU:0")
result["spec"] = [
    spec.job,
    spec.task,
    spec.replica,
    spec.device_type,
    spec.device_index,
    spec.to_string(),
]
with tf.device("/cpu:0"):
    x = tf.constant(2.0) * 3.0
with tf.Session() as sess:
    result["value"] = sess.run(x)
    result["listed"] = [d.device_type for d in sess.list_devices()][:1]
with tf.device("/gpu:9"):
    y = tf.constant(2.0) * 3.0
with tf.Session() as sess:
    result["refused"] = error_of(lambda: sess.run(y))
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    result["soft"] = sess.run(y)
result["built"] = [
    tf.test.is_built_with_cuda() in (True, False),
    tf.test.gpu_device_name() is not None,
]
