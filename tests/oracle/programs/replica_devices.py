# issue 3: where replica_device_setter puts things, and ClusterSpec
cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": ["c:3", "d:4", "e:5"]})
with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1")):
    v1 = tf.Variable(1.0, name="v1")
    v2 = tf.Variable(2.0, name="v2")
    v3 = tf.Variable(3.0, name="v3")
    s = v1 + v2
    with tf.device("/cpu:0"):
        t = s * v3
step = tf.Variable(0, name="outside")
result["devices"] = [x.device for x in (v1, v2, v3, s, t, step)]
with tf.device(tf.train.replica_device_setter(ps_tasks=3)):
    w = [tf.Variable(float(i)) for i in range(4)]
    c = tf.constant(1.0)
result["tasks"] = [x.device for x in w] + [c.device]
result["none"] = tf.train.replica_device_setter(0) is None
result["cluster"] = [
    sorted(cluster.jobs),
    cluster.num_tasks("worker"),
    cluster.task_address("ps", 1),
    cluster.job_tasks("worker"),
    cluster.task_indices("worker"),
    cluster.as_dict() == {"ps": ["a:1", "b:2"], "worker": ["c:3", "d:4", "e:5"]},
]
result["bad_job"] = error_of(lambda: cluster.job_tasks("nothing"))
result["bad_task"] = error_of(lambda: cluster.task_address("ps", 9))
result["equal"] = [cluster == tf.train.ClusterSpec(cluster), bool(tf.train.ClusterSpec({}))]
spec = tf.DeviceSpec.from_string("/job:ps/task:0")
result["merged"] = (
    spec.make_merged_spec(tf.DeviceSpec.from_string("/gpu:1")).to_string()
    if hasattr(spec, "make_merged_spec")
    else None
)
