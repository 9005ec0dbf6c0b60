"""In which replica of which distribution strategy a thread builds: the state that `tf.distribute` keeps."""

from __future__ import annotations

import threading
from typing import Any


class _OfThread(threading.local):
    """Each thread begins outside of all strategies."""

    strategy: Any = None
    replica: Any = None
    #: Variables are made as they are, whatever the strategy's scope.
    plain: bool = False


state = _OfThread()


def replica_to_merge() -> Any:
    """The replica that this thread builds where there are others beside it; ``None`` elsewhere."""
    replica = state.replica
    return replica if replica is not None and replica.num_replicas_in_sync > 1 else None
