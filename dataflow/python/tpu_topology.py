"""``tensorflow.python.tpu.topology``: where the devices of TPUs stand, for programs that run without one, too."""

from __future__ import annotations

from typing import Any

import numpy as np


class Topology:
    """A mesh of TPU devices: ``mesh_shape`` [3] int32, ``device_coordinates`` [tasks, devices, 3] int32.

    Raises `ValueError` where ``mesh_shape`` is not three positive numbers or ``device_coordinates`` has
    another shape, and `NotImplementedError` for ``serialized``, which only a TPU hands out.
    """

    def __init__(
        self,
        serialized: bytes | None = None,
        mesh_shape: Any = None,
        device_coordinates: Any = None,
    ) -> None:
        if serialized:
            raise NotImplementedError(
                "Topology(serialized=...) parses a description that a TPU sent, and dataflow has no TPUs: pass"
                " mesh_shape=[x, y, cores] and device_coordinates=[tasks, devices, 3] instead"
            )
        self.mesh_shape = np.asarray(mesh_shape, np.int32)
        self.device_coordinates = np.asarray(device_coordinates, np.int32)
        if self.mesh_shape.shape != (3,) or (self.mesh_shape < 1).any():
            raise ValueError(
                f"`mesh_shape` must be a sequence of 3 positive entries; got {mesh_shape}"
            )
        if self.device_coordinates.ndim != 3 or self.device_coordinates.shape[2] != 3:
            raise ValueError(
                "`device_coordinates` must be a rank 3 int32 array with minor dimension equal to the mesh shape"
                f" rank; got the shape {self.device_coordinates.shape}"
            )
        self._tasks = np.full(self.mesh_shape, -1, np.int32)
        self._devices = np.full(self.mesh_shape, -1, np.int32)
        for (task, device), _ in np.ndenumerate(self.device_coordinates[..., 0]):
            place = tuple(self.device_coordinates[task, device])
            self._tasks[place], self._devices[place] = task, device

    @property
    def mesh_rank(self) -> int:
        """How many axes the mesh has: 3."""
        return len(self.mesh_shape)

    @property
    def num_tasks(self) -> int:
        """How many tasks there are."""
        return int(self.device_coordinates.shape[0])

    @property
    def num_tpus_per_task(self) -> int:
        """How many devices a task has."""
        return int(self.device_coordinates.shape[1])

    def task_ordinal_at_coordinates(self, device_coordinates: Any) -> Any:
        """The number of the task whose device stands there; -1 where none does."""
        return self._tasks[tuple(device_coordinates)]

    def tpu_device_ordinal_at_coordinates(self, device_coordinates: Any) -> Any:
        """The number within its task of the device that stands there; -1 where none does."""
        return self._devices[tuple(device_coordinates)]

    def cpu_device_name_at_coordinates(
        self, device_coordinates: Any, job: str | None = None
    ) -> str:
        """``/job:tpu_worker/task:0/device:CPU:0``: the machine of the device that stands there."""
        task = self.task_ordinal_at_coordinates(device_coordinates)
        return f"/job:{job}/task:{task}/device:CPU:0" if job else f"/task:{task}/device:CPU:0"

    def tpu_device_name_at_coordinates(
        self, device_coordinates: Any, job: str | None = None
    ) -> str:
        """``/job:tpu_worker/task:0/device:TPU:1``: the device that stands there."""
        number = self.tpu_device_ordinal_at_coordinates(device_coordinates)
        host = self.cpu_device_name_at_coordinates(device_coordinates, job).removesuffix("CPU:0")
        return f"{host}TPU:{number}"
