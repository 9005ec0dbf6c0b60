"""Wrong answers to the exercises of lesson 20."""

MISTAKES = {
    "ex1": [
        "def train_until(folder, last_step):\n"
        "    step = tf.train.get_or_create_global_step()\n"
        "    count, runs, now = step.assign_add(1), 0, 0\n"
        "    with tf.train.MonitoredTrainingSession() as sess:\n"
        "        while now < last_step:\n"
        "            now, runs = sess.run(count), runs + 1\n"
        "    return runs",
        "def train_until(folder, last_step):\n"
        "    step = tf.train.get_or_create_global_step()\n"
        "    count = step.assign_add(1)\n"
        "    with tf.train.MonitoredTrainingSession(\n"
        "            checkpoint_dir=folder, log_step_count_steps=None) as sess:\n"
        "        for _ in range(last_step):\n"
        "            sess.run(count)\n"
        "    return last_step",
    ],
    "ex2": ["n = 100", "n = 2000"],
    "ex3": [
        "def lookup(spec, words):\n"
        "    table = tf.get_variable('table', [6, 4])\n"
        "    return tf.nn.embedding_lookup(table, words)",
        "def lookup(spec, words):\n"
        "    with tf.device(tf.train.replica_device_setter(cluster=spec)):\n"
        "        table = tf.get_variable(\n"
        "            'table', [6, 4], partitioner=tf.fixed_size_partitioner(2))\n"
        "        return tf.nn.embedding_lookup(table, words)",
    ],
    "ex4": [
        "def stubborn(action, num_tries):\n    return action()",
        "def stubborn(action, num_tries):\n    for _ in range(num_tries):\n        try:\n            return action()\n        except Exception:\n            pass",
        "stubborn = 1",
    ],
}
