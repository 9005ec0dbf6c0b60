"""Python 2's spellings, one line each."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
from dataflow.shim.python2 import to_python3
from dataflow.shim.python2_values import as_python2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("print 'a', b", "print('a', b)"),
        ("print", "print()"),
        ("print('a')", "print('a')"),
        ("print ('a %d' % 3), 4", "print(('a %d' % 3), 4)"),
        ("print i,  # more", 'print(i, end=" ")  # more'),
        ("print >>sys.stderr, 'x', y", "print('x', y, file=sys.stderr)"),
        ("print >>log", "print(file=log)"),
        ("if x: print 'yes'; y = 2", "if x: print('yes'); y = 2"),
        ("print 'a {}'.format(\n    b), \\\n    c", "print('a {}'.format(\n    b), \\\n    c)"),
        ("x = {'a': printer}", "x = {'a': printer}"),
        ("raise IOError, 'bad %s' % e", "raise IOError('bad %s' % e)"),
        ("raise E('a', b)", "raise E('a', b)"),
        ("try: pass\nexcept (A, B), e: pass", "try: pass\nexcept (A, B) as e: pass"),
        ("try: pass\nexcept (A, B): pass", "try: pass\nexcept (A, B): pass"),
        ("z = `x` + 10L + 0777 + 0.5e-3 + 0xffL", "z = repr(x) + 10 + 0o777 + 0.5e-3 + 0xff"),
        ("if a <> 0: pass", "if a != 0: pass"),
        ("s = ur'\\d' + 'print x' # print y", "s = r'\\d' + 'print x' # print y"),
        ("s = '''\nprint x\n'''", "s = '''\nprint x\n'''"),
        ("import cPickle as pickle", "import pickle as pickle"),
        ("import os, cPickle", "import os, pickle as cPickle"),
        ("from itertools import izip, imap", "izip = zip; imap = map"),
        ("itertools.izip(a, b)", "zip(a, b)"),
        ("for k in d.iterkeys(): xrange(2)", "for k in d.keys(): range(2)"),
        ("d.has_key('a')", "d.__contains__('a')"),
        ("batch = data.next()", "batch = data.__next__()"),
        ("mnist.train.next(10)", "mnist.train.next(10)"),
        ("f(long=3)", "f(long=3)"),
        ("n = sys.maxint", "n = sys.maxsize"),
        ("x = .03 + 1e-05 + 2.5e+010 + 08.5", "x = .03 + 1e-05 + 2.5e+010 + 08.5"),
    ],
)
def test_a_line(old: str, new: str) -> None:
    assert to_python3(old) == new
    ast.parse(new)


def test_print_function_is_respected_and_python_3_comes_back_as_it_is() -> None:
    source = "from __future__ import print_function\nprint ('a'), 3\nprint\n"
    assert to_python3(source) == source
    source = Path(__file__).read_text(encoding="utf-8").partition("@pytest")[0]
    assert to_python3(source) == source


def values(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(as_python2(ast.parse(source)), "old.py", "exec"), names)
    return names


def test_whole_numbers_divide_to_whole_numbers() -> None:
    got = values("a = 7 / 2; b = 7 / 2.0; a /= 2; rows = [9]; rows[0] /= 2")
    assert (got["a"], got["b"], got["rows"]) == (1, 3.5, [4])
    got = values("import numpy as np; n = np.arange(4); same = n; n /= 2; half = n / 2.0")
    assert got["same"].tolist() == [0, 0, 1, 1]
    assert got["half"].tolist() == [0, 0, 0.5, 0.5]
    got = values("import dataflow as tf; t = tf.constant(7) / 2; f = tf.constant(7.0) / 2")
    with tf.Session(graph=got["t"].graph) as session:
        assert session.run([got["t"], got["f"]]) == [3, 3.5]
    assert values("'It divides.'; from __future__ import division; a = 7 / 2")["a"] == 3.5


def test_range_map_and_keys_are_lists() -> None:
    got = values("a = range(3) + [9]; b = map(int, '12'); c = zip('a', 'b'); d = {'k': 1}.keys()")
    assert [got[name] for name in "abcd"] == [[0, 1, 2, 9], [1, 2], [("a", "b")], ["k"]]
    assert values("a = map(None, [1, 2], [3])")["a"] == [(1, 3), (2, None)]
    assert values("a = filter(str.isdigit, 'a1b2'), filter(None, [0, 1])")["a"] == ("12", [1])
    assert values("a = reduce(max, [1, 3, 2])")["a"] == 3
    assert values("for a in range(10**12):\n  if a == 2: break")["a"] == 2
    assert values("def range(n): return n\na = range(2)")["a"] == 2


def test_functions_that_python_3_has_not(tmp_path: Path) -> None:
    old = tmp_path / "old.py"
    old.write_text("half = 7 / 2\nprint 'ran'\n")
    source = "import sys; reload(sys); sys.setdefaultencoding('utf-8'); a = cmp(1, 2), cmp(2, 2)"
    got = values(f"{source}\nexecfile({str(old)!r}); text = file({str(old)!r}).readline()")
    assert (got["a"], got["half"], got["text"]) == ((-1, 0), 3, "half = 7 / 2\n")
    assert values("def reload(x): return x\na = reload(2)")["a"] == 2


def test_text_stays_text_where_it_was_bytes() -> None:
    got = values("a = str('\\u00e9', 'utf-8'), str(b'\\xc3\\xa9', 'utf-8', 'strict'), str(3)")
    assert got["a"] == ("\u00e9", "\u00e9", "3")
