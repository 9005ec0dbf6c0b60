"""``from tensorflow.python.util.lazy_loader import LazyLoader``: a module that is imported when first used."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

__all__ = ["LazyLoader"]


class LazyLoader(ModuleType):
    """Stands for the module ``name``, under ``local_name`` in the names of the module that imports it."""

    def __init__(
        self,
        local_name: str,
        parent_module_globals: dict[str, Any],
        name: str,
        warning: str | None = None,
    ) -> None:
        super().__init__(name)
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals
        self._warning = warning

    def _load(self) -> ModuleType:
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        if self._warning:
            from dataflow import logging

            logging.warning(self._warning)
            self._warning = None
        self.__dict__.update(module.__dict__)  # for whoever has taken this object along
        return module

    def __getattr__(self, item: str) -> Any:
        if item.startswith("__") and item not in ("__file__", "__path__", "__all__", "__version__"):
            raise AttributeError(item)
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())
