"""Values of tensors, each time in a session of its own."""

from __future__ import annotations

from typing import Any

import dataflow as tf


def run(fetches: Any, feeds: Any = None) -> Any:
    """What `Session.run` gives; no variable has a value."""
    with tf.Session() as session:
        return session.run(fetches, feeds)


def run_initialized(fetches: Any, feeds: Any = None) -> Any:
    """What `Session.run` gives once the variables have their initial values."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)
