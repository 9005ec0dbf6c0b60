"""Loads every file of kernels, so that the registry is complete."""

from __future__ import annotations

import importlib
import pkgutil

from dataflow import kernels
from dataflow.kernels.jit import (  # noqa: F401  (kernels of fused nodes)
    elementwise,
    regions,
    row_regions,
)

for _module in pkgutil.iter_modules(kernels.__path__):
    importlib.import_module(f"dataflow.kernels.{_module.name}")
