"""Kernels of critical sections."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from dataflow.kernels.array_types import Module
from dataflow.kernels.mutex import Mutex, held_mutexes
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


@kernel("MutexV2", stateful=True)
def mutex_kernel(context: KernelContext) -> Any:
    return context.resource("mutex", lambda: Mutex(context.resource_name))


@kernel("MutexLock", stateful=True)
def mutex_lock_kernel(context: KernelContext, mutex: Any) -> Any:
    cancellation = context.cancellation
    holder = cancellation.holder
    with mutex.condition:
        context.wait(mutex.condition, lambda: mutex.owner in (None, holder))
        mutex.owner = holder
        mutex.num_holds += 1
    if cancellation.of_one_step:
        cancellation.register(functools.partial(mutex.release, holder))
    else:
        held_mutexes().append(mutex)
    return mutex


@kernel("ConsumeMutexLock")
def consume_mutex_lock_kernel(xp: Module, mutex_lock: Any) -> tuple[()]:
    mutex_lock.give_back()
    if mutex_lock in held_mutexes():
        held_mutexes().remove(mutex_lock)
    return ()
