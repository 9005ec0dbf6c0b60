"""``import tensorflow`` and ``import keras`` answered by this engine.

`Finder` stands first in `sys.meta_path`, so that a TensorFlow that is installed beside is not reached.
``tensorflow.a.b`` is the module ``dataflow.a.b`` under a second name; only the two modules that tell a
version are objects of their own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from dataflow import version
from dataflow.namespaces import absent
from dataflow.python import paths
from dataflow.shim import old_keras

#: What the package Keras says of itself: a version that TensorFlow 1.15 runs, and programs can compare.
KERAS_VERSION = "2.2.5"

#: TensorFlow's estimators are a package of their own, whose paths go on as TensorFlow's do.
_TARGETS = {
    "tensorflow": "dataflow",
    "keras": "dataflow.keras",
    "tensorflow_estimator": "dataflow",
    "tensorflow_probability": "dataflow.shim.probability",
}
#: The packages that are answered, whether or not one of that name is installed.
ANSWERED = tuple(_TARGETS)
_OLD_NAMES: dict[str, Any] = {
    "__version__": version.VERSION,
    "VERSION": version.VERSION,
    "__git_version__": version.GIT_VERSION,
    "GIT_VERSION": version.GIT_VERSION,
    "__compiler_version__": version.COMPILER_VERSION,
    "COMPILER_VERSION": version.COMPILER_VERSION,
    "GRAPH_DEF_VERSION": version.GRAPH_DEF_VERSION,
    "GRAPH_DEF_VERSION_MIN_CONSUMER": version.GRAPH_DEF_VERSION_MIN_CONSUMER,
    "GRAPH_DEF_VERSION_MIN_PRODUCER": version.GRAPH_DEF_VERSION_MIN_PRODUCER,
}
#: Modules that are objects of their own, and the names in which they differ from what they stand for.
_OWN: dict[str, dict[str, Any]] = {
    "tensorflow": _OLD_NAMES,
    "tensorflow.compat.v1": _OLD_NAMES,
    "tensorflow.compat.v2": _OLD_NAMES,
    "keras": {"__version__": KERAS_VERSION},
}


#: Files whose functions stand between an import statement and the finders here.
_IMPORTING = ("<frozen importlib", importlib.__file__, str(Path(__file__).parent), paths.__file__)

#: Whoever takes layers from here, not from tf.keras, gets the package's names of layers.
_MAKERS_OF_LAYERS = ("keras.layers", "keras.models", "keras.applications", "keras.engine")


class StandIn(ModuleType):
    """``tensorflow`` as a program sees it: this engine's names, and TensorFlow's version."""

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name, target.__doc__)
        self.__dict__.update(_OWN[name], _target=target)

    def __getattr__(self, name: str) -> Any:
        target = self.__dict__["_target"]
        if f"{self.__name__}.{name}" in _MAKERS_OF_LAYERS:
            target.backend.number_names_from_one()
        return getattr(target, name)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}, answered by {self.__dict__['_target'].__name__}>"

    def __dir__(self) -> list[str]:
        return sorted({*dir(self.__dict__["_target"]), *_OWN[self.__name__]})


class _OwnLoader(Loader):
    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name, importlib.import_module(self._target))

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == "tensorflow":
            # `tf.compat.v1` tells the version, too; the attribute is found before dataflow's.
            module.__dict__["compat"] = _compat(module.__dict__["_target"].compat)
        if module.__name__ == "tensorflow.compat.v2":
            module.__dict__["compat"] = importlib.import_module(module.__name__.rpartition(".")[0])
        if module.__name__ == "keras":
            old_keras.mend(module.__dict__["_target"])


def _compat(target: ModuleType) -> ModuleType:
    compat = ModuleType("tensorflow.compat", target.__doc__)
    compat.__dict__.update({k: v for k, v in vars(target).items() if not k.startswith("__")})
    compat.__path__ = []

    def version_2(name: str) -> Any:
        """``tf.compat.v2``, loaded when it is first named."""
        if name == "v2":
            return importlib.import_module(f"{compat.__name__}.v2")
        raise absent("dataflow.compat", name)

    compat.__dict__["__getattr__"] = version_2
    compat.__dict__["v1"] = StandIn(
        "tensorflow.compat.v1", importlib.import_module(f"{target.__name__}.v1")
    )
    sys.modules[compat.__name__] = compat
    sys.modules[compat.__dict__["v1"].__name__] = compat.__dict__["v1"]
    return compat


class _AliasWithPath(paths.Alias):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        # `from tensorflow.nn import missing` asks the finder only where a module has a path.
        if getattr(module, "__path__", None) is None:
            module.__path__ = []


class Finder(MetaPathFinder):
    """Finds ``tensorflow``, ``keras``, ``tensorflow_estimator`` and everything below them in this engine."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root not in _TARGETS:
            return None
        if root == "tensorflow_probability":
            rest = rest.removeprefix("python").lstrip(
                "."
            )  # `tensorflow_probability.python.bijectors.tanh`
        home = _TARGETS[root] + (f".{rest}" if rest else "")
        if fullname.startswith(_MAKERS_OF_LAYERS):
            importlib.import_module("dataflow.keras.backend").number_names_from_one()
        if fullname in _OWN:
            return ModuleSpec(fullname, _OwnLoader(home), is_package=True)
        if (tree := paths.moved(home.removeprefix("dataflow."))) is not None:
            home = f"dataflow.{tree}"
        try:
            importlib.import_module(home)
        except ImportError as error:
            if error.name is None or not f"{home}.".startswith(f"{error.name}."):
                raise  # a package that the module needs
            package, _, name = home.rpartition(".")
            found = getattr(sys.modules.get(package), name, None)
            if not isinstance(found, ModuleType):
                # `_LastFinder` has said what it was. pydoc.locate("tensorflow.nn.rnn_cell.LSTMCell") asks for a
                # module first, and takes an error of this name for an answer.
                error.name = fullname
                raise
            home = found.__name__  # tensorflow.nn.rnn_cell: a name in nn's stub
        return ModuleSpec(fullname, _AliasWithPath(home), is_package=True)


class _LastFinder(MetaPathFinder):
    """Asked when nobody has found a module of this engine: says what it was, and what to write.

    ``from tensorflow.contrib import tpu`` comes here, too: Python asks ``tensorflow.contrib`` for the
    name, drops the `AttributeError` with its advice, and then tries to import it.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        if fullname.startswith("dataflow.") and not name.startswith("_"):
            raise _absent_module(package, name)
        return None


def _absent_module(package: str, name: str) -> ImportError:
    known = dir(sys.modules[package]) if package in sys.modules else ()
    # Libraries ask for modules of later TensorFlows, and catch ModuleNotFoundError; but that of
    # `name` is what `from package import name` swallows.
    kind = ImportError if _is_for_a_name() else ModuleNotFoundError
    return kind(str(absent(package, name, known)), name=f"{package}.{name}")


def _is_for_a_name() -> bool:
    """Whether the import system is looking for the ``name`` of ``from package import name``."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_IMPORTING):
        if frame.f_code.co_name == "_handle_fromlist":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def installed() -> bool:
    """Whether ``import tensorflow`` is answered by this engine."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install() -> None:
    """Puts the finder first; raises `RuntimeError` where TensorFlow or Keras itself is imported."""
    if installed():
        return
    for name in _TARGETS:
        there = sys.modules.get(name)
        # The stand-ins of `on_path` are being imported when they call this.
        if there is not None and not hasattr(there, "DATAFLOW_STAND_IN"):
            raise RuntimeError(
                f"{name} {getattr(there, '__version__', '')} itself is imported already"
                f" ({getattr(there, '__file__', 'built in')}). Restart the kernel or the program, and call "
                "dataflow.as_tensorflow() before anything imports it."
            )
    paths.install()
    sys.meta_path.insert(0, Finder())
    sys.meta_path.append(_LastFinder())
    for name in _TARGETS:
        sys.modules.pop(name, None)


def tensorflow() -> ModuleType:
    """What ``import tensorflow`` gives after `install`."""
    name, *_ = _TARGETS
    return importlib.import_module(name)
