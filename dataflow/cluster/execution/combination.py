"""A combination of fetches and feeds, and the settings that its runs take from `ConfigProto`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dataflow.graph.tensor import Tensor
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.feeds import make_feed_converter
from dataflow.runtime.fetches import FetchPlan

if TYPE_CHECKING:
    from dataflow.cluster.execution.fast_path import FastStep


class Combination:
    """A session's knowledge of one combination of fetches and feeds."""

    def __init__(self, fetches: FetchPlan, feeds: list[Tensor], traced: bool = False) -> None:
        self.fetches = fetches
        self.traced = traced
        self.feeds = feeds
        self.feed_names = [t.name for t in feeds]
        self.converters = [make_feed_converter(t) for t in feeds]
        self.prepared: Any = None
        #: The fast path of its step, if its master is of this process and it has one.
        self.fast: FastStep | None = None
        self.needed: frozenset[str] = frozenset()
        self.generation = -1


def deadline_in(seconds: float | None) -> float | None:
    """The time on the monotonic clock that many seconds from now; ``None``: no limit."""
    return None if seconds is None else time.monotonic() + seconds


def timeout_of(config: ConfigProto | None) -> float | None:
    """``ConfigProto.operation_timeout_in_ms`` in seconds; ``None``: there is no limit."""
    milliseconds = getattr(config, "operation_timeout_in_ms", 0) or 0
    return milliseconds / 1000 or None


def rewrite_options_of(config: ConfigProto | None) -> RewriteOptions | None:
    """The rewrites that a session's configuration switches on."""
    return RewriteOptions.from_config(config if config is not None else ConfigProto())
