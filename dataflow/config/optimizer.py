"""`tf.config.optimizer`: which rewrites sessions without a `ConfigProto` apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.namespaces import absent
from dataflow.runtime import process_settings


def get_jit() -> bool:
    """Whether just-in-time compilation was asked for; see `set_jit`."""
    return process_settings.jit_is_on()


def set_jit(enabled: bool) -> None:
    """Sets the ``global_jit_level`` of sessions made from now on; their graphs become machine code in either case."""
    process_settings.set_jit_level(enabled)


def get_experimental_options() -> dict[str, Any]:
    """The options that were set, by name."""
    return process_settings.rewrites()


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Switches groups of rewrites on (True) and off (False), by their names in `tf.RewriterConfig`.

    ``{"constant_folding": False}``; ``disable_meta_optimizer`` turns all off, and graphs of fewer nodes than
    ``min_graph_nodes`` stay as they are. It holds for sessions made from now on without a `ConfigProto`. Names of
    other releases are accepted and change nothing.
    """
    process_settings.set_rewrites(dict(options))


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
