"""Wrong answers to the exercises of lesson 3."""

MISTAKES = {
    "ex1": [
        "celsius = tf.placeholder(tf.float32, [])\nfahrenheit = celsius * 9 / 5 + 32",
        "celsius = tf.placeholder(tf.float32)\nfahrenheit = celsius * 5 / 9 + 32",
        "celsius = tf.constant(100.0)\nfahrenheit = celsius * 9 / 5 + 32",
    ],
    "ex2": [
        "table = tf.placeholder(tf.float32, [None, 4])\nmeans = tf.reduce_mean(table, axis=0)",
        "table = tf.placeholder(tf.float32)\nmeans = tf.reduce_mean(table, axis=1)",
        "table = tf.placeholder(tf.float32, [5, 4])\nmeans = tf.reduce_mean(table, axis=1)",
    ],
    "ex3": [
        "def cubes(numbers):\n    return tf.Session().run(tf.constant(numbers) ** 3)",
        "def cubes(numbers):\n    return [n ** 3 for n in numbers]",
        "def cubes(numbers):\n    return [n ** 2 for n in numbers]",
        "cubes = [1.0, 8.0]",
    ],
    "ex4": [
        "signal = tf.placeholder(tf.float32)\ngain = tf.placeholder(tf.float32)\n"
        "scaled = signal * gain",
        "signal = tf.placeholder_with_default(0.0, None)\n"
        "gain = tf.placeholder_with_default(1.0, [])\nscaled = signal * gain",
    ],
    "ex5": [
        "x = tf.placeholder(tf.float32)\ny = x * 1.0",
        "x = tf.placeholder(tf.float32)\ny = x + 1.0",
        "x = 1.0\ny = 1.0",
        "x = tf.placeholder(tf.float32, [None])\ny = -x",
    ],
}
