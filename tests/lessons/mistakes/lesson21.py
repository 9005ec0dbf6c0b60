"""Wrong answers to the exercises of lesson 21."""

_RIGHT = (
    '"Exp": lambda op, g: [g * op.outputs[0]], '
    '"RealDiv": lambda op, g: [g / op.inputs[1], -g * op.inputs[0] / op.inputs[1] ** 2], '
)

MISTAKES = {
    "ex1": [
        'more_rules = {"Exp": lambda op, g: [g * op.inputs[0]], "RealDiv": ..., "Maximum": ...}',
        'more_rules = {"Exp": lambda op, g: [g * op.inputs[0]], '
        '"RealDiv": lambda op, g: [g, g], "Maximum": lambda op, g: [g, g]}',
        "more_rules = {" + _RIGHT + '"Maximum": lambda op, g: [g, g]}',
        'more_rules = {"Exp": lambda op, g: [g * op.outputs[0]], '
        '"RealDiv": lambda op, g: [g / op.inputs[1], g * op.inputs[0] / op.inputs[1] ** 2], '
        '"Maximum": lambda op, g: [g, g]}',
    ],
    "ex2": [
        # Every path.
        "def my_gradients(y, xs, rules):\n"
        "    found = {}\n"
        "    def follow(t, g):\n"
        "        found.setdefault(t, []).append(g)\n"
        "        if t.op.inputs:\n"
        "            for i, part in zip(t.op.inputs, rules[t.op.type](t.op, g)):\n"
        "                follow(i, part)\n"
        "    follow(y, tf.ones_like(y))\n"
        "    return [tf.add_n(found[x]) if x in found else None for x in xs]",
        # Each op once, but the last path wins.
        "def my_gradients(y, xs, rules):\n"
        "    order = []\n"
        "    def visit(op):\n"
        "        for t in op.inputs:\n"
        "            if t.op not in order:\n"
        "                visit(t.op)\n"
        "        order.append(op)\n"
        "    visit(y.op)\n"
        "    total = {y: tf.ones_like(y)}\n"
        "    for op in reversed(order):\n"
        "        if op.inputs:\n"
        "            parts = rules[op.type](op, total[op.outputs[0]])\n"
        "            total.update(zip(op.inputs, parts))\n"
        "    return [total.get(x) for x in xs]",
        # Breadth first: passed on before it is complete.
        "def my_gradients(y, xs, rules):\n"
        "    total, waiting, done = {y: tf.ones_like(y)}, [y.op], set()\n"
        "    while waiting:\n"
        "        op = waiting.pop(0)\n"
        "        if op in done or not op.inputs:\n"
        "            continue\n"
        "        done.add(op)\n"
        "        for t, part in zip(op.inputs, rules[op.type](op, total[op.outputs[0]])):\n"
        "            total[t] = total[t] + part if t in total else part\n"
        "            waiting.append(t.op)\n"
        "    return [total.get(x) for x in xs]",
        "def my_gradients(y, xs, rules):\n    return y",
    ],
    "ex3": [
        "def agrees(f, gradient, x):\n    return True",
        "def agrees(f, gradient, x):\n"
        "    v = np.eye(len(x))[0]\n"
        "    measured = (f(x + 1e-5 * v) - f(x - 1e-5 * v)) / 2e-5\n"
        "    return bool(abs(measured - gradient(x) @ v) < 1e-4)",
        "def agrees(f, gradient, x):\n"
        "    for i, v in enumerate(np.eye(len(x))):\n"
        "        measured = (f(x + 1e-5 * v) - f(x - 1e-5 * v)) / 2e-5\n"
        "        if abs(measured - gradient(x)[i]) > 1e-4:\n"
        "            return False\n"
        "    return True",
        "def agrees(f, gradient, x):\n"
        "    v = np.random.default_rng(0).normal(size=x.shape)\n"
        "    return bool((f(x + 1e-5 * v) - f(x)) / 1e-5 == gradient(x) @ v)",
    ],
    "ex4": [
        "def rule_of_round(op, g):\n    return [tf.zeros_like(g)]",
        "def rule_of_round(op, g):\n    return [-g]",
        "def rule_of_round(op, g):\n    return [0.01 * g]",
        "def rule_of_round(op, g):\n    return g",
    ],
}
