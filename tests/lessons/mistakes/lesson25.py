"""Wrong answers to the exercises of lesson 25."""

MISTAKES = {
    "ex1": [
        "def quantize_range(x, num_bits):\n"
        "    whole, scale = quantize(x, num_bits)\n"
        "    return whole, scale, 0",
        "def quantize_range(x, num_bits):\n"
        "    scale = (x.max() - x.min()) / 2 ** num_bits\n"
        "    return np.round((x - x.min()) / scale).astype(int), scale, -x.min() / scale",
        "def quantize_range(x, num_bits):\n"
        "    scale = (x.max() - x.min()) / (2 ** num_bits - 1)\n"
        "    return np.round((x - x.min()) / scale).astype(int), scale, x.min()",
    ],
    "ex2": [
        "def next_scale(scale, good, finite):\n"
        "    return (scale, good + 1, True) if finite else (scale / 2, 0, True)",
        "def next_scale(scale, good, finite):\n"
        "    if not finite:\n"
        "        return scale / 2, 0, False\n"
        "    return (scale * 2, 0, True) if good == 1000 else (scale, good + 1, True)",
        "def next_scale(scale, good, finite):\n"
        "    if not finite:\n"
        "        return scale / 2, good, False\n"
        "    return (scale * 2, 0, True) if good == 999 else (scale, good + 1, True)",
    ],
    "ex3": [
        "def by_column(W, num_bits):\n    return rounded(W, num_bits)",
        "def by_column(W, num_bits):\n"
        "    scale = np.abs(W).max(axis=1, keepdims=True) / (2 ** (num_bits - 1) - 1)\n"
        "    return np.round(W / scale) * scale",
        "def by_column(W, num_bits):\n"
        "    scale = np.abs(W).max(axis=0) / (2 ** (num_bits - 1) - 1)\n"
        "    return np.round(W / scale) * scale",
    ],
    "ex4": [
        "def total(numbers, add):\n"
        "    result = np.float16(0)\n"
        "    for n in numbers:\n"
        "        result = add(result, n)\n"
        "    return result",
        "def total(numbers, add):\n    return np.float16(np.sum(np.float64(numbers)))",
        "def total(numbers, add):\n"
        "    result = np.float16(0)\n"
        "    for n in sorted(numbers):\n"
        "        result = add(result, n)\n"
        "    return result",
    ],
}
