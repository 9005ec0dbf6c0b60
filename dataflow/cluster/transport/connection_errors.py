"""How sending or receiving on a connection fails, and the errors that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.cluster.transport import registry
from dataflow.errors import (
    DeadlineExceededError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)


class TimeIsUp(OSError):
    """A connection's deadline has passed; the system raises TimeoutError for a silent peer too."""


class TooLong(Exception):
    """A frame is too large for a connection's buffer, so it cannot be received without waiting."""


def stopped_error(peer: str, address: str, stopped: registry.Stopped) -> UnavailableError:
    """The error for a task that this process itself has stopped: it says which call did it."""
    where = "" if address in peer else f" at {address}"
    error = UnavailableError(
        None,
        None,
        f"{peer}{where} is gone: {stopped.how}. Make a new session, on a cluster that runs "
        "(tf.cluster.launch starts one).",
    )
    error.for_good = stopped.for_good  # type: ignore[attr-defined]
    return error


def lost_error(peer: str, address: str, error: OSError) -> OpError:
    """The error for a connection that the system says is lost, or whose time is up."""
    stopped = registry.stopped_at(address)
    if stopped is not None:
        return stopped_error(peer, address, stopped)
    where = f" at {address}" if address else ""
    # The system raises the second if patience (`Connection.set_patience`) ends inside a frame.
    if isinstance(error, TimeIsUp | BlockingIOError):
        return DeadlineExceededError(
            None,
            None,
            f"{peer}{where} did not answer in time. It may be busy or stopped, or its "
            "machine cannot be reached.",
        )
    return UnavailableError(
        None,
        None,
        f"The connection to {peer}{where} was lost ({error}). The task died, was stopped, "
        "or cannot be reached.",
    )


def too_large_error(
    peer: str, size: int, limit_bytes: int, tensors: Sequence[Any]
) -> ResourceExhaustedError:
    """The error for a message of ``size`` bytes, of which the peer takes ``limit_bytes``."""
    largest = max((np.asarray(t) for t in tensors), key=lambda a: a.nbytes, default=None)
    what = "" if largest is None else f"; its largest tensor is {largest.dtype}{largest.shape}"
    return ResourceExhaustedError(
        None,
        None,
        f"A message of {size} bytes to {peer} is above its limit of "
        f"{limit_bytes} and was not sent{what.replace('object', 'string')}. Send it "
        "in parts, or set DATAFLOW_MAX_MESSAGE_BYTES higher for every task and client.",
    )
