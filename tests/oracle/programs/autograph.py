# issue 16: tf.autograph.to_graph makes branches and loops of Python part of the graph
def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 < 1 else 3 * n + 1
        steps += 1
    return steps


def early(x):
    if x > 10:
        return x * 2
    x = x + 1
    if x > 5:
        return x
    return x - 3


def primes(n):
    count = 0
    for i in range(2, n):
        prime = True
        for j in range(2, i):
            if j * j > i:
                break
            if i % j < 1:
                prime = False
                break
        if prime:
            count += 1
    return count


def logic(x):
    y = 0
    if x > 1 and 12 // x > 2 and not x > 4:
        y = 1
    if x > 6 or x < 1:
        y = y + 2
    return y


def largest(rows):
    best = rows[0]
    for row in rows:
        if row > 100:
            continue
        if row > best:
            best = row
    return best


def unset(x):
    if x > 0:
        y = x
    return y


x = tf.placeholder(tf.int32, [], name="x")
rows = tf.placeholder(tf.int32, [None], name="rows")
made = {f.__name__: tf.autograph.to_graph(f)(x) for f in (fibonacci, collatz, early, primes, logic)}
best = tf.autograph.to_graph(largest)(rows)
y = tf.constant(2.0)
power = tf.autograph.to_graph(lambda t: t * t if t > 1.0 else t)(y)
with tf.Session() as sess:
    for name, tensor in made.items():
        result[name] = [int(sess.run(tensor, {x: value})) for value in (1, 3, 7, 12, 27)]
    result["largest"] = int(sess.run(best, {rows: [3, 200, 9, 4]}))
    result["gradient"] = float(sess.run(tf.gradients(power, y)[0]))
try:
    tf.autograph.to_graph(unset)(x)
    result["unset"] = "accepted"
except ValueError:
    result["unset"] = "refused"
