"""``keras.legacy.interfaces``: its decorators translated the arguments of Keras 1.

Here the classes and functions of the package take those by themselves (`dataflow.shim.old_keras`), so
what a program decorates with them stays as it is, but for an optimizer's ``get_updates``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def generate_legacy_interface(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing."""
    return lambda function: function


def __getattr__(name: str) -> Any:
    if name == "legacy_get_updates_support":
        from dataflow.python.keras1_arguments import updates_of_loss

        return updates_of_loss
    if name.startswith("legacy_") or name.endswith("_support"):
        return generate_legacy_interface()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
