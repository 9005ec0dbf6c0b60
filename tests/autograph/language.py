"""Functions for `tf.autograph` that use parts of Python's language; see `programs`."""

from __future__ import annotations

import dataflow as tf

last = 0


def with_scope(x):
    with tf.name_scope("a"):
        if x > 0:
            return x
        else:
            with tf.name_scope("b"):
                return -x


def tr(x):
    try:
        if x > 0:
            y = x
        else:
            y = x * 2
        del {}["k"]
    except KeyError as e:
        y = y + len(str(e))
    finally:
        y = y + 1
    return y


def glob(x):
    global last
    if x > 0:
        last = x
    else:
        last = x * 3
    return last


def outer(x):
    n = 0

    def bump():
        nonlocal n
        if x > 0:
            n = n + x

    bump()
    bump()
    return n


def walrus(x):
    k = 3
    while (k := k - 1) > 0:
        x = x + k
    return x


def comp(x):
    y = [x * i for i in range(3) if i != 1]
    for v in y:
        if v > 3:
            continue
        x = x + v
    d = dict(zip("ab", y, strict=True))
    return x + d["b"]


def deep(x):
    s = 0
    for i in range(x):
        for j in range(x):
            if j > i:
                break
            if (i + j) % 2 < 1:
                continue
            s += i * j
        if s > 40:
            break
    else:
        s = -s
    return s


def ann(x: int) -> int:
    y: int = 3
    z: int
    if x > y:
        z = x
    else:
        z = y
    del y
    return z


def tup(x):
    p = (x, {"a": x})
    while x > 0:
        p = (p[0] + 1, {"a": p[1]["a"] * 2})
        x -= 1
    return p[0] + p[1]["a"]


def aug(x):
    if x > 0:
        x += 1
    elif x < -5:
        x -= 1
    else:
        pass
    return x


def opt(x, mode="train"):
    if mode == "train" and x > 0:
        return x * 2
    return x


def match_(x, k="b"):
    match k:
        case "a":
            y = x
        case "b":
            if x > 1:
                y = x
            else:
                y = -x
        case _:
            return x
    return y


def rec(x, n=3):
    if n == 0:
        return x
    if x > 2:
        x = x - 1
    return rec(x, n - 1)


def down(x):
    total = 0
    for i in range(x, 1, -2):
        total = total * 10 + i
    return total


def between(x):
    total = 0
    for i in range(-2, x):
        total += i * i
    return total


PROGRAMS = [
    (with_scope, (3,)),
    (with_scope, (-3,)),
    (tr, (3,)),
    (tr, (-3,)),
    (glob, (2,)),
    (glob, (-2,)),
    (outer, (2,)),
    (outer, (-2,)),
    (walrus, (1,)),
    (comp, (1,)),
    (comp, (5,)),
    (deep, (6,)),
    (deep, (3,)),
    (ann, (5,)),
    (ann, (1,)),
    (tup, (3,)),
    (aug, (3,)),
    (aug, (-9,)),
    (aug, (-1,)),
    (opt, (3,)),
    (opt, (-3,)),
    (match_, (3,)),
    (match_, (0,)),
    (rec, (5,)),
    (deep, (0,)),
    (down, (-2,)),
    (down, (5,)),
    (between, (1,)),
    (between, (-4,)),
]
