"""Wrong answers to the milestones of capstone 2."""

_RULE = '@tf.extend.rewrite("{0}")\ndef {1}(t):\n    """{2}"""\n    {3}\n'

MISTAKES = {
    "ex1": [
        _RULE.format("Abs", "abs_of_negation", "abs(-x) -> abs(x)", "return t"),
        _RULE.format(
            "Abs",
            "abs_of_negation",
            "abs(-x) -> abs(x)",
            'x = t.op.inputs[0]\n    return x.op.inputs[0] if x.op.type == "Neg" else None',
        ),
        _RULE.format(
            "Abs",
            "abs_of_negation",
            "abs(-x) -> abs(x)",
            "x = t.op.inputs[0]\n    return tf.abs(x.op.inputs[0]) if x.op.inputs else None",
        ),
        # A node's name says nothing of what it does.
        _RULE.format(
            "Abs",
            "abs_of_negation",
            "abs(-x) -> abs(x)",
            'x = t.op.inputs[0]\n    return tf.abs(x.op.inputs[0]) if x.op.name == "Neg" else None',
        ),
        _RULE.format(
            "Abs",
            "abs_of_negation",
            "abs(-x) -> abs(x)",
            'x = t.op.inputs[0]\n    return x.op if x.op.type == "Neg" else None',
        ),
        'def abs_of_negation(t):\n    """abs(-x) -> abs(x)"""\n    return tf.abs(t.op.inputs[0])',
        "abs_of_negation = 3",
    ],
    "ex2": [
        "def counterexample(before, after):\n    return None if before is after else None",
        "def counterexample(before, after):\n    return [1.0]",
        "def counterexample(before, after):\n    return [float('nan'), 1e30, float('inf'), -0.0, 0.1]",
    ],
    "ex3": [
        # The engine knows it.
        _RULE.format(
            "Relu",
            "my_rule",
            "relu(relu(x)) -> relu(x)",
            'x = t.op.inputs[0]\n    return x if x.op.type == "Relu" else None',
        )
        + "def example():\n"
        "    x = tf.placeholder(tf.float32, [None])\n"
        "    return tf.nn.relu(tf.nn.relu(x)), [x]\n",
        # It overflows, and NaN has a sign.
        _RULE.format(
            "Sqrt",
            "my_rule",
            "sqrt(square(x)) -> abs(x)",
            'x = t.op.inputs[0]\n    return tf.abs(x.op.inputs[0]) if x.op.type == "Square" else None',
        )
        + "def example():\n"
        "    x = tf.placeholder(tf.float32, [None])\n"
        "    return tf.sqrt(tf.square(x)), [x]\n",
        *(
            _RULE.format(
                "Relu6",
                "my_rule",
                "relu6(relu(x)) -> relu6(x)",
                'x = t.op.inputs[0]\n    return tf.nn.relu6(x.op.inputs[0]) if x.op.type == "Relu" else None',
            )
            + "def example():\n"
            f"    x = tf.placeholder(tf.float32{shape})\n"
            f"    {more}\n"
            f"    return tf.nn.relu6(tf.nn.relu(x)) + y, {told}\n"
            for shape, more, told in (
                (", [None]", "y = 1.0", "x"),
                (", [None]", "y = 1.0", "['x:0']"),
                (", [None]", "y = tf.placeholder(tf.float32, [None])", "[x]"),
                (", [None]", "y = tf.Variable(1.0)", "[x]"),
                ("", "y = 1.0", "[x]"),
            )
        ),
        "example = abs_of_negation\nmy_rule = abs_of_negation",
    ],
    "ex4": [
        "def step_of(told, equation):\n"
        "    return [s.equation for s in told.steps].index(equation) + 1",
        "def step_of(told, equation):\n"
        "    found = [i for i, s in enumerate(told.steps) if s.equation == equation]\n"
        "    return found[0] if found else None",
        # The last step, and one that only begins so.
        "def step_of(told, equation):\n"
        "    found = [i for i, s in enumerate(told.steps, 1) if s.equation == equation]\n"
        "    return found[-1] if found else None",
        "def step_of(told, equation):\n"
        "    found = [i for i, s in enumerate(told.steps, 1) if equation in s.equation]\n"
        "    return found[0] if found else None",
    ],
}
