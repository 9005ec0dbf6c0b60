"""State that outlives a run: variables and other resources, by container and name."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.errors import FailedPreconditionError
from dataflow.graph.eager import CONTAINER as EAGER_CONTAINER
from dataflow.kernels.large_arrays import owns_memory
from dataflow.shapes import Dims


class VariableResource:
    """The value of one variable: ``array`` is ``None`` until it is assigned.

    Copy on write: the array is updated in place only when nothing else refers to it (`exclusive`), so
    earlier readers of the variable keep the value that they saw.
    """

    __slots__ = ("__weakref__", "array", "by_handle", "dims", "dtype", "lock", "name", "was_reset")

    def __init__(self, name: str, dtype: DType, by_handle: bool = False, dims: Dims = None) -> None:
        self.name = name
        self.dtype = dtype
        #: Whether it is a resource variable: messages speak of those in TensorFlow's other words.
        self.by_handle = by_handle
        #: The shape that its first value must have; None: any.
        self.dims = dims
        self.array: Any = None
        self.lock = threading.RLock()
        self.was_reset = False
        self._begin()

    def _begin(self) -> None:
        dims = self.dims
        if not self.by_handle and dims is not None and 0 in dims and None not in dims:
            # As in TensorFlow: a tensor without elements needs no memory, so it counts as initialized.
            self.array = np.empty(dims, self.dtype.as_numpy_dtype)

    def reset(self) -> None:
        """Makes it uninitialized, for all who hold it."""
        with self.lock:
            self.array, self.was_reset = None, True
            self._begin()

    def serves(self, dtype: DType, by_handle: bool, dims: Dims) -> bool:
        """Whether it is for such a variable. One that was reset and got no value may be for no other."""
        if not self.was_reset or self.array is not None:
            return True
        return self.dtype == dtype and self.by_handle == by_handle and self.dims == dims

    def read(self) -> Any:
        """The array; raises `FailedPreconditionError` when there is none yet."""
        array = self.array
        if array is None:
            raise self.uninitialized()
        return array

    def uninitialized(self) -> FailedPreconditionError:
        """The error for a variable that is read before it has a value."""
        if self.by_handle:
            what = (
                f"Error while reading resource variable {self.name} from Container: localhost. This "
                "could mean that the variable was uninitialized. Not found: Resource "
                f"localhost/{self.name} does not exist"
            )
        else:
            what = f"Attempting to use uninitialized value {self.name}"
        return FailedPreconditionError(
            None,
            None,
            f"{what}: the variable has no value in this session yet. Run its initializer first: "
            "sess.run(tf.global_variables_initializer()), made after the last variable (an optimizer's "
            "minimize() makes some, too).",
        )

    def exclusive(self) -> Any:
        """The array, for a change in place; replaced by a copy first if anything else refers to it."""
        array = self.array
        if array is None:
            raise self.uninitialized()
        # References: self.array, the local, the argument of getrefcount.
        if isinstance(array, np.generic):
            array = self.array = np.array(array)
            return array
        host = type(array) is np.ndarray
        if (
            sys.getrefcount(array) > 3
            or (not owns_memory(array) if host else array.base is not None)
            or (host and not array.flags.writeable)
        ):
            array = self.array = array.copy()
        return array


class ResourceManager:
    """Resources by (container, kind, name). Shared by all sessions on one server target."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._resources: dict[tuple[str, str, str], Any] = {}
        #: Counts replaced and dropped resources: a resource found earlier may be outdated.
        self.changes = 0

    def get_or_create(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        """The resource; ``create()`` makes it if it does not exist."""
        if container == EAGER_CONTAINER and self is not eager_resources:
            return eager_resources.get_or_create(container, kind, name, create)
        key = (container, kind, name)
        found = self._resources.get(key)
        if found is None:
            with self._lock:
                found = self._resources.get(key)
                if found is None:
                    found = self._resources[key] = create()
        return found

    def get(self, container: str, kind: str, name: str) -> Any:
        """The resource or ``None``."""
        return self._resources.get((container, kind, name))

    def put(self, container: str, kind: str, name: str, value: object) -> None:
        """Stores a resource, replacing an older one."""
        with self._lock:
            self._resources[(container, kind, name)] = value
            self.changes += 1

    def remove(self, container: str, kind: str, name: str) -> Any:
        """Removes a resource and returns it, or ``None``."""
        with self._lock:
            found = self._resources.pop((container, kind, name), None)
            self.changes += 1
            return found

    def variable(
        self, container: str, name: str, dtype: DType, by_handle: bool = False, dims: Dims = None
    ) -> VariableResource:
        """The variable of this name, created empty if it does not exist.

        One that was reset is replaced where it was created for another kind of variable.
        """

        def create() -> VariableResource:
            return VariableResource(name, dtype, by_handle, dims)

        found = self.get_or_create(container, "variable", name, create)
        if not found.serves(dtype, by_handle, dims):
            found = create()
            self.put(container, "variable", name, found)
        return found  # type: ignore[no-any-return]

    def items(self, kind: str) -> list[tuple[str, Any]]:
        """(name, resource) of every resource of a kind; of variables not those that were reset since."""
        with self._lock:
            found = [(n, r) for (_, k, n), r in self._resources.items() if k == kind]
        if kind == "variable":
            return [(n, r) for n, r in found if r.array is not None or not r.was_reset]
        return found

    def reset(self, containers: list[str] | None = None) -> None:
        """Drops all resources, or those of the given containers; variables stay, without a value.

        So plans that hold a variable go on sharing it with those that are made later.
        """
        with self._lock:
            for key, resource in list(self._resources.items()):
                if containers is not None and key[0] not in containers:
                    continue
                if isinstance(resource, VariableResource):
                    resource.reset()
                else:
                    del self._resources[key]
            self.changes += 1

    def clear(self, containers: list[str] | None = None) -> None:
        """Drops all resources, or those of the given containers."""
        with self._lock:
            if containers is None:
                self._resources.clear()
            else:
                wanted = set(containers)
                for key in [k for k in self._resources if k[0] in wanted]:
                    del self._resources[key]
            self.changes += 1


#: The variables of eager code, which every session of the process reaches.
eager_resources = ResourceManager()
