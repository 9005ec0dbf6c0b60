"""Wrong answers to the exercises of lesson 18."""

MISTAKES = {
    "ex1": [
        "def build(spec):\n    return tf.add_n([tf.Variable(1.0).read_value() for _ in range(4)])",
        "def build(spec):\n"
        "    with tf.device('/job:ps/task:0'):\n"
        "        parts = [tf.Variable(1.0) for _ in range(4)]\n"
        "    with tf.device('/job:worker/task:1'):\n"
        "        return tf.add_n([part.read_value() for part in parts])",
        "def build(spec):\n"
        "    with tf.device(tf.train.replica_device_setter(cluster=spec)):\n"
        "        parts = [tf.Variable(1.0) for _ in range(4)]\n"
        "    return tf.add_n([part.read_value() for part in parts])",
    ],
    "ex2": [
        "def in_step(losses, optimizer):\n    return optimizer.minimize(tf.add_n(losses))",
        "def in_step(losses, optimizer):\n    return optimizer.minimize(losses[0])",
        "def in_step(losses, optimizer):\n    return tf.add_n(losses) / len(losses)",
    ],
    "ex3": ["rate = 0.5", "rate = 0.001", "rate = 0.2"],
    "ex4": ["backups = 6", "backups = 1", "backups = 2.3"],
}
