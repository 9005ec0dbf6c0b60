"""Python 2's spellings, one line each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dataflow.shim.python2 import to_python3


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
