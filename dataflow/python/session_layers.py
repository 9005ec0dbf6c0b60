"""The layers of a `tf.train.MonitoredSession` under the names of TensorFlow's private classes."""

from __future__ import annotations

from dataflow.train.wrapped_sessions import (
    CoordinatedSession as _CoordinatedSession,
    HookedSession as _HookedSession,
    RecoverableSession as _RecoverableSession,
    WrappedSession as _WrappedSession,
)

__all__ = ["_CoordinatedSession", "_HookedSession", "_RecoverableSession", "_WrappedSession"]
