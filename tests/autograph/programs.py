"""Functions of Python for `tf.autograph`; on Python's numbers they give what they must on tensors.

None asks for ``==``: that of TensorFlow 1's tensors is whether they are one object.
"""

from __future__ import annotations


def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 < 1:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


def early(x):
    if x > 10:
        y = x * 2
        return y
    x = x + 1
    if x > 5:
        return x
    z = x - 3
    return z * z


def nested_break(n):
    found = 0
    i = 0
    while i < n:
        j = 0
        while True:
            if j >= n:
                break
            if i * j > 20:
                found = found + i
                break
            j += 1
        if found > 30:
            break
        i += 1
    return found * 1000 + i


def odd_sum(n):
    total = 0
    for i in range(n):
        if i % 2 < 1:
            continue
        temporary = i * i
        total += temporary
    return total


def first_over(n, limit):
    result = -1
    for i in range(n):
        if i * i > limit:
            result = i
            break
    else:
        result = -2
    return result


def ternary(x):
    return x * 2 if x > 0 else -x


def logic(x, y):
    count = 0
    if x > 1 and y > 1:
        count += 1
    if x > 3 or y > 3:
        count += 10
    if not x > y:
        count += 100
    if 0 < x < y <= 9:
        count += 1000
    return count


def guarded(x, y):
    """Without short circuit the division would fail."""
    return 1 if x > 0 and y // x > 2 else 0


def helper(x):
    if x > 2:
        return x - 2
    return x


def calls(x):
    total = helper(x) + helper(x + 1)
    pick = lambda v: v if v > 3 else 3
    return total + pick(x)


def inner_function(x):
    scale = 2

    def scaled(y, by=3):
        if y > 4:
            return y * by
        return y * scale

    while x < 20:
        x = scaled(x)
    return x


def python_loop_with_break(x):
    total = 0
    for step in [1, 2, 3, 4]:
        if x * step > 6:
            break
        total += step * 10
    return total


def swap(x, y):
    if x > y:
        x, y = y, x
    pair = (x, y)
    return pair[0] * 100 + pair[1]


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


PROGRAMS = [
    (fibonacci, (10,)),
    (fibonacci, (0,)),
    (collatz, (27,)),
    (sign, (5,)),
    (sign, (-5,)),
    (sign, (0,)),
    (early, (20,)),
    (early, (7,)),
    (early, (1,)),
    (nested_break, (9,)),
    (nested_break, (3,)),
    (odd_sum, (10,)),
    (first_over, (10, 17)),
    (first_over, (3, 17)),
    (ternary, (4,)),
    (ternary, (-4,)),
    (logic, (2, 3)),
    (logic, (5, 1)),
    (logic, (0, 0)),
    (guarded, (0, 5)),
    (guarded, (2, 9)),
    (calls, (1,)),
    (calls, (8,)),
    (inner_function, (1,)),
    (python_loop_with_break, (2,)),
    (python_loop_with_break, (1,)),
    (swap, (7, 3)),
    (swap, (3, 7)),
    (primes, (30,)),
]
