"""Modules that today's Python or packages lack, as far as programs of TensorFlow 1's time used them."""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from dataflow.shim import six_module


def _imp() -> types.ModuleType:
    """The part of ``imp`` that programs used."""
    import importlib.util

    def load_source(name: str, path: str, file: Any = None) -> types.ModuleType:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    return _module(
        "imp", reload=importlib.reload, load_source=load_source, new_module=types.ModuleType
    )


class _LooseVersion:
    """``distutils.version.LooseVersion``: versions that compare part by part."""

    def __init__(self, vstring: str) -> None:
        import re

        self.vstring = vstring
        parts = re.split(r"(\d+|[a-z]+|\.)", vstring)
        self.version = [int(p) if p.isdigit() else p for p in parts if p and p != "."]

    def _key(self, other: Any) -> tuple[list[Any], list[Any]]:
        other = other if isinstance(other, _LooseVersion) else _LooseVersion(str(other))
        return [[(isinstance(p, str), p) for p in v.version] for v in (self, other)]  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        mine, theirs = self._key(other)
        return mine == theirs

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._key(other)
        return mine < theirs

    def __le__(self, other: Any) -> bool:
        mine, theirs = self._key(other)
        return mine <= theirs

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __hash__(self) -> int:
        return hash(self.vstring)

    def __str__(self) -> str:
        return self.vstring

    __repr__ = __str__


def _distutils() -> types.ModuleType:
    def strtobool(value: str) -> int:
        word = value.lower()
        if word in ("y", "yes", "t", "true", "on", "1"):
            return 1
        if word in ("n", "no", "f", "false", "off", "0"):
            return 0
        raise ValueError(f"invalid truth value {word!r}")

    def copy_tree(src: str, dst: str, **kwargs: Any) -> list[str]:
        import shutil

        shutil.copytree(src, dst, dirs_exist_ok=True)
        return [os.path.join(dst, name) for name in os.listdir(src)]

    package = _module("distutils")
    package.__path__ = []
    version = _module("distutils.version", LooseVersion=_LooseVersion, StrictVersion=_LooseVersion)
    package.__dict__.update(
        version=version,
        util=_module("distutils.util", strtobool=strtobool),
        dir_util=_module("distutils.dir_util", copy_tree=copy_tree),
    )
    return package


def _umath_tests() -> types.ModuleType:
    """``numpy.core.umath_tests``: products along the last axes, before there were `einsum` and `matmul`."""
    import numpy as np

    def inner1d(a: Any, b: Any) -> Any:
        return np.einsum("...i,...i->...", a, b)

    return _module("numpy.core.umath_tests", inner1d=inner1d, matrix_multiply=np.matmul)


def _module(module_name: str, /, **names: Any) -> types.ModuleType:
    module = types.ModuleType(module_name, f"What programs used of {module_name}, which is gone.")
    module.__dict__.update(names)
    return module


def _named(name: str) -> Callable[[], types.ModuleType]:
    return lambda: importlib.import_module(name)


#: What a package no longer has under its own name: the module that has its names today, and the old ones below it.
_MOVED = {
    "scipy.sparse.linalg": "scipy.sparse.linalg.eigen.arpack scipy.sparse.linalg.eigen.arpack.arpack"
    " scipy.sparse.linalg.isolve.iterative scipy.sparse.linalg.dsolve.linsolve",
    "numpy": "numpy.lib.function_base numpy.lib.arraysetops numpy.lib.index_tricks",
    "numpy.linalg": "numpy.linalg.linalg",
    "numpy.testing": "numpy.testing.utils numpy.testing.decorators",
    "numpy.fft": "numpy.fft.fftpack",
    "pandas.testing": "pandas.util.testing",
    "sklearn.datasets": "sklearn.datasets.samples_generator sklearn.datasets.base",
    "sklearn.metrics": "sklearn.metrics.classification sklearn.metrics.ranking sklearn.metrics.scorer",
    "sklearn.model_selection": "sklearn.cross_validation sklearn.grid_search sklearn.learning_curve",
    "sklearn.utils._testing": "sklearn.utils.testing",
    "sklearn.linear_model": "sklearn.linear_model.logistic sklearn.linear_model.base",
    "sklearn.decomposition": "sklearn.decomposition.pca",
    "sklearn.cluster": "sklearn.cluster.k_means_",
    "sklearn.ensemble": "sklearn.ensemble.forest sklearn.ensemble.gradient_boosting",
    "sklearn.tree": "sklearn.tree.tree",
    "sklearn.svm": "sklearn.svm.classes",
    "sklearn.preprocessing": "sklearn.preprocessing.data sklearn.preprocessing.label",
    "sklearn.manifold": "sklearn.manifold.t_sne",
    "sklearn.neighbors": "sklearn.neighbors.base sklearn.neighbors.classification",
}

#: Modules that today's Python or packages lack, and how to make or find each. They are made only where
#: no module of that name is found.
GONE: dict[str, Callable[[], types.ModuleType]] = {
    "imp": _imp,
    "distutils": _distutils,
    "distutils.version": lambda: importlib.import_module("distutils").version,
    "distutils.util": lambda: importlib.import_module("distutils").util,
    "distutils.dir_util": lambda: importlib.import_module("distutils").dir_util,
    "xml.etree.cElementTree": _named("xml.etree.ElementTree"),
    "sklearn.externals.joblib": _named("joblib"),
    "sklearn.externals.six": _named("six"),
    "numpy.core.umath_tests": _umath_tests,
    "scipy.misc": lambda: _module("scipy.misc"),
    "six": six_module.six,
    "six.moves": six_module.moves,
    **{old: _named(home) for home, names in _MOVED.items() for old in names.split()},
    **{name: _named(target) for name, target in six_module.moved_modules().items()},
}
