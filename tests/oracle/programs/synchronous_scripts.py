# issue 14: synchronous training as published scripts write it, with an int32 global_step
# The structure is that of TensorFlow's mnist_replica.py --sync_replicas and of tmulc18's
# Synchronous-SGD, SSGD-different-lr and SAGN; a parameter server and two workers of one process.
import contextlib
import socket
import threading


def start_cluster():
    """The spec, and the started servers of ps:0, worker:0 and worker:1."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        ports = [sock.getsockname()[1] for sock in sockets]
    addresses = [f"127.0.0.1:{port}" for port in ports]
    spec = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
    tasks = [("ps", 0), ("worker", 0), ("worker", 1)]
    return spec, [tf.train.Server(spec, job_name=job, task_index=index) for job, index in tasks]


def on_both_workers(script):
    """What the chief and the other worker return, each with a graph and a thread of its own."""
    spec, servers = start_cluster()
    returned = [None, None]
    ready = threading.Event()

    def work(index):
        if index == 1:  # which would ask only every 30 seconds whether the variables are there
            ready.wait(30)
        setter = tf.train.replica_device_setter(
            worker_device=f"/job:worker/task:{index}", cluster=spec
        )
        with tf.Graph().as_default(), tf.device(setter):
            returned[index] = script(servers[1 + index].target, index, ready)

    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    return returned


def two_vectors():
    """The model of tmulc18's scripts: the sum of two vectors shall become 100."""
    a = tf.Variable(tf.constant(0.0, shape=[2]), dtype=tf.float32, name="a")
    b = tf.Variable(tf.constant(0.0, shape=[2]), dtype=tf.float32, name="b")
    global_step = tf.Variable(0, dtype=tf.int32, trainable=False, name="global_step")
    c = a + b
    target = tf.constant(100.0, shape=[2], dtype=tf.float32)
    return a, b, c, global_step, tf.reduce_mean(tf.square(c - target))


def train(target, index, ready, hook, step, c, global_step):
    """Ten steps; the value of ``c`` after each."""
    hooks = [hook, tf.train.StopAtStepHook(last_step=10)]
    c_of_step = {}
    with tf.train.MonitoredTrainingSession(
        master=target, is_chief=index == 0, hooks=hooks, stop_grace_period_secs=2
    ) as session:
        ready.set()
        while not session.should_stop():
            session.run(step)
            if not session.should_stop():
                value, number = session.run([c, global_step])
                c_of_step[int(number)] = value
    return c_of_step


def synchronous_sgd(target, index, ready):
    _a, _b, c, global_step, loss = two_vectors()
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.0001), replicas_to_aggregate=2, total_num_replicas=2
    )
    step = optimizer.minimize(loss, global_step=global_step)
    # Each worker gives one gradient to each step: what is seen after a step is certain.
    hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
    return train(target, index, ready, hook, step, c, global_step)


def different_learning_rates(target, index, ready):
    _a, _b, c, global_step, loss = two_vectors()
    inner = tf.train.GradientDescentOptimizer(1.0)
    optimizer = tf.train.SyncReplicasOptimizer(inner, replicas_to_aggregate=2, total_num_replicas=2)
    rate = (0.0001, 0.0003)[index]
    scaled = [(rate * grad, var) for grad, var in optimizer.compute_gradients(loss)]
    step = optimizer.apply_gradients(scaled, global_step=global_step)
    hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
    return train(target, index, ready, hook, step, c, global_step)


def accumulated_gradients(target, index, ready):
    """SAGN: a worker sums the gradients of five steps of its own copies and gives their mean."""
    a, b, c, global_step, _ = two_vectors()
    with tf.device(f"/job:worker/task:{index}"):
        local = [tf.Variable(v.initial_value, collections=["local_variables"]) for v in (a, b)]
        sums = [tf.Variable(tf.zeros([2]), collections=["local_variables"]) for _ in local]
    loss = tf.reduce_mean(tf.square(local[0] + local[1] - 100.0))
    inner = tf.train.GradientDescentOptimizer(0.0005)
    grads = inner.compute_gradients(loss, var_list=local)
    with tf.control_dependencies([tf.assign_add(s, g) for s, (g, _) in zip(sums, grads)]):
        local_step = inner.apply_gradients(grads)
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.001), replicas_to_aggregate=2, total_num_replicas=2
    )
    commit = optimizer.apply_gradients(
        [(s / 5.0, v) for s, v in zip(sums, (a, b))], global_step=global_step
    )
    pull = tf.group(*[tf.assign(x, v) for x, v in zip(local, (a, b))])
    clear = tf.group(*[tf.assign(s, tf.zeros([2])) for s in sums])
    hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
    c_of_step = {}
    with tf.train.MonitoredTrainingSession(
        master=target, is_chief=index == 0, hooks=[hook], stop_grace_period_secs=2
    ) as session:
        ready.set()
        for _ in range(4):
            session.run(pull)
            session.run(clear)
            for _ in range(5):
                session.run(local_step)
            session.run(commit)
            value, number = session.run([c, global_step])
            c_of_step[int(number)] = value
    return c_of_step


def mnist_replica(target, index, ready):
    """A hidden layer, Adam and a Supervisor; the digits are drawn by a generator."""
    rng = np.random.RandomState(0)
    images = rng.rand(100, 64).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[images[:, :10].argmax(1)]
    is_chief = index == 0
    global_step = tf.Variable(0, name="global_step", trainable=False)
    hid_w = tf.Variable(tf.truncated_normal([64, 20], stddev=1.0 / 8, seed=1), name="hid_w")
    hid_b = tf.Variable(tf.zeros([20]), name="hid_b")
    sm_w = tf.Variable(tf.truncated_normal([20, 10], stddev=0.2, seed=2), name="sm_w")
    sm_b = tf.Variable(tf.zeros([10]), name="sm_b")
    x = tf.placeholder(tf.float32, [None, 64])
    y_ = tf.placeholder(tf.float32, [None, 10])
    hid = tf.nn.relu(tf.nn.xw_plus_b(x, hid_w, hid_b))
    y = tf.nn.softmax(tf.nn.xw_plus_b(hid, sm_w, sm_b))
    cross_entropy = -tf.reduce_sum(y_ * tf.log(tf.clip_by_value(y, 1e-10, 1.0)))
    opt = tf.train.SyncReplicasOptimizer(
        tf.train.AdamOptimizer(0.01),
        replicas_to_aggregate=2,
        total_num_replicas=2,
        name="mnist_sync_replicas",
    )
    train_step = opt.minimize(cross_entropy, global_step=global_step)
    chief_queue_runner = opt.get_chief_queue_runner()
    sync_init_op = opt.get_init_tokens_op()
    sv = tf.train.Supervisor(
        is_chief=is_chief,
        logdir=tmp_dir,
        init_op=tf.global_variables_initializer(),
        local_init_op=opt.chief_init_op if is_chief else opt.local_step_init_op,
        ready_for_local_init_op=opt.ready_for_local_init_op,
        recovery_wait_secs=1,
        global_step=global_step,
        summary_op=None,
    )
    config = tf.ConfigProto(
        allow_soft_placement=True, device_filters=["/job:ps", f"/job:worker/task:{index}"]
    )
    sess = sv.prepare_or_wait_for_session(target, config=config)
    ready.set()
    if is_chief:
        sess.run(sync_init_op)
        sv.start_queue_runners(sess, [chief_queue_runner])
    feed = {x: images, y_: labels}
    first = sess.run(cross_entropy, feed)
    while True:
        _, step = sess.run([train_step, global_step], feed)
        if step >= 60:
            break
    return float(first), float(sess.run(cross_entropy, feed)), np.asarray(step).dtype.name


for script in (synchronous_sgd, different_learning_rates, accumulated_gradients):
    chief, other = on_both_workers(script)
    result[script.__name__] = [[step, chief[step]] for step in sorted(chief)]
    result[f"{script.__name__}_seen_by_both"] = chief.keys() == other.keys()
losses = on_both_workers(mnist_replica)
result["mnist_replica_learns"] = [last < 0.7 * 230 for _, last, _ in losses]
result["mnist_replica_step"] = [dtype for _, _, dtype in losses]
print(losses)
