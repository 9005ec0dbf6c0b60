"""Loads every file of ops, so that the registry is complete (for imported graphs and rewrites)."""

from __future__ import annotations

import importlib
import pkgutil

from dataflow import ops

for _module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"dataflow.ops.{_module.name}")
