"""Wrong answers to the exercises of lesson 2."""

MISTAKES = {
    "ex1": [
        "names = {'x', 'y'}",
        "names = {'add_op', 'y', 'x', 'mul_op'}",
        "names = {'z'}",
        "names = {'add_op:0', 'y'}",
        "names = {}",
    ],
    "ex2": [
        "useful = useless",
        "useful = tf.negative(add_op)",
        "useful = 3",
        "useful = sess.run(useless)",
    ],
    "ex3": [
        "def both(sess):\n    return sess.run(mul_op), sess.run(pow_op)",
        "def both(sess):\n    return sess.run([add_op, pow_op])",
        "def both(sess):\n    return 1 / 0",
        "def both(sess):\n    return sess.run(pow_op)",
        "def both():\n    return 6, 15625",
    ],
    "ex4": ["feeds = {add_op: 2}", "feeds = {pow_op: 32}", "feeds = {add_op: 2, mul_op: 4}"],
}
