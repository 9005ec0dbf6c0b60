"""Wrong answers to the milestones of capstone 1."""

_SEES_ALL = """
def model(symbols):
    table = tf.get_variable("table", [NUM, 16])
    places = tf.get_variable("places", [symbols.shape[1].value, 16])
    x = tf.nn.embedding_lookup(table, symbols) + places
    x += tf.reduce_mean(x, 1, keepdims=True)
    return tf.layers.dense(x, NUM)
"""
_SEES_ITSELF = """
def model(symbols):
    x = tf.nn.embedding_lookup(tf.get_variable("table", [NUM, 16]), symbols)
    return tf.layers.dense(x, NUM)
"""
_NO_ORDER = """
def model(symbols):
    x = tf.nn.embedding_lookup(tf.get_variable("table", [NUM, 16]), symbols)
    return tf.layers.dense(tf.cumsum(x, 1), NUM)
"""
_READY_MADE = """
model = tf.keras.Sequential(
    [tf.keras.layers.Embedding(NUM, 8, input_shape=(7,)), tf.keras.layers.Dense(NUM)])
"""
_ONLY_LOCAL = """
def program(server, folder, last_step):
    step = tf.train.get_or_create_global_step()
    count = step.assign_add(1)
    with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, save_checkpoint_steps=20, save_checkpoint_secs=None,
            save_summaries_steps=None, log_step_count_steps=None) as sess:
        return [(int(sess.run(count)), 1.0) for _ in range(30)]
"""

MISTAKES = {
    "ex1": [
        _READY_MADE,
        "def model(symbols):\n    return tf.one_hot(symbols, 5)",
        "def model(symbols):\n    return tf.one_hot(symbols, NUM)",
        _SEES_ALL,
        _SEES_ITSELF,
        _NO_ORDER,
        "model = 5",
    ],
    "ex2": [
        "def program(server, folder, last_step):\n    return []",
        "def program(server, folder, last_step):\n    raise ValueError('no server')",
        _ONLY_LOCAL,
    ],
    "ex3": [
        "def interval(step, save, between):\n    return 100",
        "def interval(step, save, between):\n"
        "    return max(1, round((save * between) ** 0.5 / step))",
        "def interval(step, save, between):\n    return (2 * save * between) ** 0.5 / step",
    ],
}
