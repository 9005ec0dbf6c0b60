"""Resources that a program registers: listed, initialized with the model, reported while missing."""

from __future__ import annotations

import dataflow as tf
from dataflow.python.ops import resources


def registered(is_shared: bool) -> tuple:
    made = tf.Variable(False, collections=[])
    handle = tf.constant("a handle", name=f"handle_{is_shared}")
    create = made.initializer
    with tf.control_dependencies([create]):
        create = tf.assign(made, True).op
    resources.register_resource(handle, create, tf.is_variable_initialized(made), is_shared)
    return made, handle


def test_resources_are_listed_initialized_and_reported() -> None:
    with tf.Graph().as_default(), tf.Session() as s:
        registered(True)
        registered(False)
        assert [r.handle.op.name for r in resources.shared_resources()] == ["handle_True"]
        assert [r.handle.op.name for r in resources.local_resources()] == ["handle_False"]
        missing = resources.report_uninitialized_resources()
        assert s.run(missing).tolist() == [b"handle_True:0", b"handle_False:0"]
        s.run(resources.initialize_resources(resources.shared_resources()))
        assert s.run(missing).tolist() == [b"handle_False:0"]


def test_nothing_registered_is_nothing_to_do() -> None:
    with tf.Graph().as_default(), tf.Session() as s:
        assert s.run(resources.initialize_resources(resources.shared_resources())) is None
        assert s.run(resources.report_uninitialized_resources()).tolist() == []


def test_a_scaffold_makes_them() -> None:
    with tf.Graph().as_default():
        tf.train.create_global_step()
        registered(True)
        registered(False)
        missing = resources.report_uninitialized_resources()
        with tf.train.MonitoredSession() as s:
            assert s.run(missing).tolist() == []
