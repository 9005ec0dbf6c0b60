"""`dataflow.shim.six_module`: what answers ``import six`` where the package is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dataflow.shim import six_module

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
class WithoutSix:
    # the installed package is not found, as on a machine without it
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "six": return None
        return self.finder.find_spec(name, path, target)
sys.meta_path[:] = [WithoutSix(f) if getattr(f, "__name__", "") == "PathFinder" else f
                    for f in sys.meta_path if "six" not in type(f).__module__]
import dataflow
dataflow.as_tensorflow()
import six
from six.moves import xrange, cPickle as pickle, urllib, range as r
from six.moves.urllib.request import urlretrieve
import six.moves.urllib.parse as p
import urllib.parse, queue, six.moves.queue
assert urllib.parse is p and urlretrieve is urllib.request.urlretrieve and six.moves.queue is queue
assert list(xrange(2)) == [0, 1] and pickle.__name__ == "pickle"
class A(six.with_metaclass(type)): pass
print(six.__doc__.splitlines()[0])
"""


def test_a_program_finds_it_where_six_is_missing() -> None:
    path = os.pathsep.join(str(ROOT / name) for name in (".", "widgets", "datasets"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The part of ``six`` that programs use")


def test_it_is_what_six_is() -> None:
    import six

    ours = six_module.six()
    assert [name for name in six_module.NAMES if not hasattr(six, name)] == []
    meta = type("Meta", (type,), {})
    for module in (six, ours):

        class Made(module.with_metaclass(meta, dict)):  # type: ignore[misc]
            x = 1

        assert (type(Made), Made.__mro__[1], Made.x) == (meta, dict, 1)

        @module.add_metaclass(meta)
        class Added:
            y = 2

        assert (type(Added), Added.y) == (meta, 2)
        assert list(module.iteritems({1: 2})) == [(1, 2)]
        assert module.ensure_str(b"a") == module.ensure_text("a") == "a"
        assert module.ensure_binary("\u00e9") == b"\xc3\xa9"
        assert module.int2byte(65) == b"A" and module.byte2int(b"A") == 65
        with pytest.raises(KeyError) as info:
            module.raise_from(KeyError("k"), ValueError("v"))
        assert isinstance(info.value.__cause__, ValueError)
    for name in ("xrange", "zip", "reduce", "zip_longest", "cPickle", "queue", "configparser"):
        assert getattr(six.moves, name) is getattr(six_module.moves(), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        six_module.moves().nothing
