"""Wrong answers to the exercises of lesson 19."""

MISTAKES = {
    "ex1": [
        "def split_inside(a, b):\n    return tf.matmul(a, b)",
        "def split_inside(a, b):\n"
        "    out = []\n"
        "    for i, part in enumerate(tf.split(b, [2, 3], axis=1)):\n"
        "        with tf.device(f'/job:worker/task:{i}'):\n"
        "            out.append(tf.matmul(a, part))\n"
        "    return tf.concat(out, 1)",
        "def split_inside(a, b):\n"
        "    columns, rows = tf.split(a, 2, 1), tf.split(b, 2, 0)\n"
        "    return tf.concat([tf.matmul(c, r) for c, r in zip(columns, rows)], 1)",
    ],
    "ex2": [
        "def break_even(num_inputs, hidden, num_classes):\n    return 148",
        "def break_even(num_inputs, hidden, num_classes):\n    return num_inputs + num_classes",
    ],
    "ex3": [
        "def finished_at(seconds, num_workers):\n    return sum(seconds) / num_workers",
        "def finished_at(seconds, num_workers):\n"
        "    return max(sum(seconds[i::num_workers]) for i in range(num_workers))",
    ],
    "ex4": [
        "def majority(answers):\n    return np.mean(answers, 0).argmax(1)",
        "def majority(answers):\n    return answers[0].argmax(1)",
    ],
    "ex5": [
        "def divide(sizes, num_tasks):\n    return [0 for _ in sizes]",
        "def divide(sizes, num_tasks):\n    return [i * num_tasks // len(sizes) for i in range(len(sizes))]",
        "def divide(sizes, num_tasks):\n    return [i % num_tasks for i in range(len(sizes))]",
        "divide = 0",
    ],
}
