"""One command line for `tf.flags` and for absl's flags, which were the same thing since TensorFlow 1.5."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def share_flags(absl_flags: ModuleType) -> None:
    """Lets ``absl.flags.FLAGS`` and ``tf.flags.FLAGS`` read, and parse, what is defined in the other.

    So ``tf.app.run()`` parses absl's flags, and ``absl.app.run(main)`` those of `tf.flags`.
    """
    from dataflow import flags
    from dataflow.flag_values import share, take

    ours = flags.FLAGS
    absls = absl_flags.FLAGS
    kind = type(absls)
    parse, look_up = kind.__call__, kind.__getattr__

    def call(self: Any, argv: Any, known_only: bool = False) -> Any:
        if self is absls:
            argv = [argv[0], *take(ours, list(argv)[1:])]
        return parse(self, argv, known_only)

    def look_up_in_both(self: Any, name: str) -> Any:
        if self is absls and not name.startswith("_") and name not in self and name in ours:
            return getattr(ours, name)
        return look_up(self, name)

    kind.__call__, kind.__getattr__ = call, look_up_in_both
    share(ours, absls, lambda args: parse(absls, ["", *args], known_only=True)[1:])
