"""``tfprof_log``: the entries that TensorFlow 1.15 writes for the same graph."""

import pytest

import dataflow as tf
from dataflow.formats.protobuf_wire import fields

pytestmark = pytest.mark.usefixtures("graph")


def read(folder):
    """(entries by name: fields by number, strings by number) of an OpLogProto."""
    entries, strings = {}, {}
    for number, _, value in fields((folder / "tfprof_log").read_bytes()):
        parts = [(n, v) for n, _, v in fields(value)]
        if number == 1:
            name = bytes(dict(parts)[1]).decode()
            entries[name] = [(n, v) for n, v in parts if n != 1]
        else:
            strings[dict(parts).get(1, 0)] = bytes(dict(parts)[2]).decode()
    return entries, strings


def network():
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    w = tf.get_variable("w", initializer=tf.ones([3, 2]))
    return tf.nn.bias_add(tf.matmul(x, w, name="mm"), tf.zeros([2]), name="ba")


def test_operations_and_variables(tmp_path):
    network()
    tf.profiler.write_op_log(tf.get_default_graph(), str(tmp_path / "new"), add_trace=False)
    entries, strings = read(tmp_path / "new")
    assert entries["mm"] == [(2, 48)] and entries["ba"] == [(2, 8)]
    assert [(n, bytes(v)) for n, v in entries["w"]] == [(3, b"_trainable_variables")]
    assert strings == {0: "none"} and "x" not in entries


def test_places(tmp_path):
    network()

    class Log:
        def SerializeToString(self):
            return b"\n\x05\n\x03own"

    tf.profiler.write_op_log(None, str(tmp_path), Log())
    entries, strings = read(tmp_path)
    assert set(entries) == {op.name for op in tf.get_default_graph().get_operations()} | {"own"}
    (code,) = [v for n, v in entries["x"] if n == 4]
    last = [{n: v for n, _, v in fields(trace)} for _, _, trace in fields(code)][-1]
    assert strings[last[6]].endswith("test_op_log.py") and strings[last[7]] == "network"
    assert last[2] == network.__code__.co_firstlineno + 1
