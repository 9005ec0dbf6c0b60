"""Monitors of ``tf.contrib.learn`` that log: tensors, trainable variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataflow import logging
from dataflow.contrib.learn.step_monitors import EveryN, name_of
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph


class PrintTensor(EveryN):
    """Logs tensors every ``every_n`` steps: a list of tensors or of their names, or a dict by what to call them."""

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        if not isinstance(tensor_names, Mapping):
            tensor_names = {name_of(item): item for item in tensor_names}
        self._tensors = {tag: name_of(item) for tag, item in tensor_names.items()}

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for them."""
        return list(self._tensors.values())

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """Logs them."""
        parts = [f"{tag} = {outputs[name]}" for tag, name in self._tensors.items()]
        logging.info("Step %d: %s", step, ", ".join(parts))
        return False


class LoggingTrainable(EveryN):
    """Logs the trainable variables of ``scope``."""

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._scope = scope

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for them."""
        found = default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=self._scope)
        self._names: Sequence[str] = [v.name for v in found]
        return list(self._names)

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """Logs them."""
        parts = [f"{name} = {outputs[name]}" for name in self._names if name in outputs]
        logging.info("Logging Trainable: %s, step: %d", ", ".join(parts), step)
        return False
