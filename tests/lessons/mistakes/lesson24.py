"""Wrong answers to the exercises of lesson 24."""

MISTAKES = {
    "ex1": [
        "def bubble(stages, micro_batches):\n    return stages / (micro_batches + stages)",
        "def bubble(stages, micro_batches):\n    return (stages - 1) / micro_batches",
        "def bubble(stages, micro_batches):\n    return 1 / micro_batches",
    ],
    "ex2": [
        "def my_part(x, A, B, rank, num):\n    return np.tanh(x @ A) @ B / num",
        "def my_part(x, A, B, rank, num):\n"
        "    return np.tanh(x @ np.split(A, num, axis=1)[rank]) @ np.split(B, num, axis=0)[0]",
        "def my_part(x, A, B, rank, num):\n    return np.tanh(x @ np.split(A, num, axis=1)[rank])",
    ],
    "ex3": [
        "def workers_needed(num_weights, gigabytes, stage):\n"
        "    return int(np.ceil(16 * num_weights / (gigabytes * 1e9)))",
        "def workers_needed(num_weights, gigabytes, stage):\n"
        "    for n in range(1, 1000):\n"
        "        if num_weights * bytes_each(stage, n) < gigabytes * 1e9:\n"
        "            return n",
        "def workers_needed(num_weights, gigabytes, stage):\n    return 0",
    ],
    "ex4": [
        "def cuts(sizes, budget):\n    return list(range(len(sizes)))",
        "def cuts(sizes, budget):\n"
        "    return list(range(0, len(sizes), max(1, int(len(sizes) ** 0.5))))",
        "def cuts(sizes, budget):\n    return [i for i in range(len(sizes)) if sizes[i] == min(sizes)]",
    ],
}
