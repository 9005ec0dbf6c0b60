"""`SyncReplicasOptimizer`: workers whose gradients are averaged before the variables change.

Each worker adds its gradients to accumulators on the parameter servers, then waits for a token. A
thread of the chief takes the averages once enough gradients are in, applies them, and hands out one
token per worker, with the number of the new step; gradients of older steps are dropped.
Source: Chen et al., "Revisiting distributed synchronous SGD", 2016.
"""

from __future__ import annotations

import contextlib
from typing import Any

from dataflow import dtypes
from dataflow.errors import CancelledError, OpError, OutOfRangeError
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.accumulator import ConditionalAccumulator, SparseConditionalAccumulator
from dataflow.ops.array import fill
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.queues import FIFOQueue
from dataflow.ops.state import assign
from dataflow.ops.variable_lists import global_variables, report_uninitialized_variables
from dataflow.ops.variables import Variable
from dataflow.train.optimizer import Optimizer
from dataflow.train.queue_runner import QueueRunner
from dataflow.train.session_manager import SessionManager
from dataflow.train.session_run_hook import SessionRunHook


class SyncReplicasOptimizer(Optimizer):
    """Wraps an optimizer so that ``replicas_to_aggregate`` gradients make one step.

    Args:
        opt: the optimizer that applies the averages.
        replicas_to_aggregate: how many gradients one step needs.
        total_num_replicas: how many workers there are; more than that many are spares.
        variable_averages: an `ExponentialMovingAverage` to update after each step.
        variables_to_average: for which variables.

    Each worker uses `make_session_run_hook` (or runs ``local_step_init_op``; the chief
    ``chief_init_op``, `get_init_tokens_op` and the threads of `get_chief_queue_runner`).
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._sync_token_queue: Any = None
        self._chief_queue_runner: QueueRunner | None = None
        self._accumulator_list: list[tuple[Any, str]] = []

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As the wrapped optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Adds the gradients to the accumulators and waits for the step to be made.

        Raises `ValueError` without variables or without ``global_step``.
        """
        grads_and_vars = list(grads_and_vars)
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        graph = default_graph()
        self._global_step = global_step
        train_ops: list[Any] = []
        averages: list[Any] = []
        self._local_step = self._make_local_step()
        self.local_step_init_op = assign(self._local_step, global_step)
        chief_init_ops = [self.local_step_init_op]
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            for grad, var in grads_and_vars:
                with graph.device(var.device):
                    averages.append(self._accumulate(grad, var, train_ops))
            with graph.device(global_step.device), name_scope(""):
                pairs = [(g, v) for g, (_, v) in zip(averages, grads_and_vars, strict=True)]
                update = self._opt.apply_gradients(pairs, global_step)
            with graph.device(global_step.device):
                train_op = self._exchange_tokens(train_ops, update)
            for accumulator, where in self._accumulator_list:
                with graph.device(where):
                    chief_init_ops.append(
                        accumulator.set_global_step(global_step, name="SetGlobalStep")
                    )
            self.chief_init_op = group(*chief_init_ops)
            self._gradients_applied = True
            return train_op

    def _make_local_step(self) -> Variable:
        """The step that this worker is at; on it, not on a parameter server: each has its own."""
        graph = default_graph()
        anchor = no_op()
        with graph.colocate_with(anchor):
            return Variable(
                initial_value=0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=self._global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )

    def _exchange_tokens(self, train_ops: list[Any], update: Any) -> Any:
        """The op that waits for a token, which the chief's queue runner hands out after each update."""
        graph, global_step = default_graph(), self._global_step
        with name_scope(""):
            self._sync_token_queue = FIFOQueue(
                -1,
                global_step.dtype.base_dtype,
                shapes=(),
                name="sync_token_q",
                shared_name="sync_token_q",
            )
            # The queue runner closes its queue at the end; that must not be the shared one.
            dummy = FIFOQueue(
                1, dtypes.int32, shapes=(), name="dummy_queue", shared_name="dummy_queue"
            )
        with name_scope(""):
            with graph.control_dependencies(train_ops):
                token = self._sync_token_queue.dequeue()
            train_op = assign(self._local_step, token)
            with graph.control_dependencies([update]):
                tokens = fill([self._tokens_per_step], global_step)
                sync: Any = self._sync_token_queue.enqueue_many((tokens,))
            if self._variable_averages is not None:
                with graph.control_dependencies([sync]), name_scope(""):
                    sync = self._variable_averages.apply(self._variables_to_average)
            # The thread waits for gradients; `end` of the hook cancels that wait.
            ends = (OutOfRangeError, CancelledError)
            self._chief_queue_runner = QueueRunner(dummy, [sync], queue_closed_exception_types=ends)
        return train_op

    def _accumulate(self, grad: Any, var: Variable, train_ops: list[Any]) -> Any:
        """Adds the op that contributes ``grad``; returns the average of all contributions."""
        shared = var.name + "/grad_accum"
        if grad is None:
            return None
        if isinstance(grad, Tensor):
            accumulator: Any = ConditionalAccumulator(
                grad.dtype.base_dtype, shape=var.get_shape(), shared_name=shared
            )
            train_ops.append(accumulator.apply_grad(grad, local_step=self._local_step))
            average = accumulator.take_grad(self._replicas_to_aggregate)
        elif isinstance(grad, IndexedSlices):
            accumulator = SparseConditionalAccumulator(
                grad.dtype.base_dtype, shape=(), shared_name=shared
            )
            train_ops.append(
                accumulator.apply_indexed_slices_grad(grad, local_step=self._local_step)
            )
            average = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
        else:
            raise ValueError(f"Unknown grad type: {grad!r}")
        self._accumulator_list.append((accumulator, var.device))
        return average

    def _applied(self, function: str) -> None:
        if not self._gradients_applied:
            raise ValueError(f"{function}() should be called after apply_gradients().")

    def get_chief_queue_runner(self) -> Any:
        """The runner whose thread, in the chief, makes the steps."""
        self._applied("get_chief_queue_runner")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """Puts the first tokens into the queue, so that spare workers do not hold up step one.

        Raises `ValueError` for too few.
        """
        self._applied("get_init_tokens_op")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with default_graph().device(self._global_step.device), name_scope(""):
            tokens = fill([num_tokens], self._global_step)
            return self._sync_token_queue.enqueue_many((tokens,))

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """As the wrapped optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """As the wrapped optimizer's."""
        return self._opt.variables()

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """The hook that prepares a worker (or the chief) for synchronous steps."""
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook(SessionRunHook):
    """Initializes the local step, and in the chief the accumulators, tokens and thread."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._sync_optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens
        self._coord: Any = None
        self._threads: list[Any] = []

    def begin(self) -> None:
        """Makes the nodes."""
        optimizer = self._sync_optimizer
        if not optimizer._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._ready_op = optimizer.ready_for_local_init_op
        if self._is_chief:
            self._local_init_op: Any = optimizer.chief_init_op
            self._runner = optimizer.get_chief_queue_runner()
            self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens)
            self._last_tokens_op = optimizer.get_init_tokens_op(optimizer._tokens_per_step)
        else:
            self._local_init_op = optimizer.local_step_init_op
            self._runner = self._init_tokens_op = self._last_tokens_op = None

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Runs the initializers and starts the thread."""
        ready, message = SessionManager._ready(self._ready_op, session)
        if not ready:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init: "
                f"{message}"
            )
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._runner is not None:
            self._coord = coord
            self._threads = self._runner.create_threads(
                session, coord=coord, daemon=True, start=True
            )

    def end(self, session: Any) -> None:
        """Wakes those that wait for what will not come: other workers, and the chief's thread.

        A worker that was ahead of the others waits for a token, but no step is made any more
        without the chief's gradients. On a cluster the thread waits until the session is closed.
        """
        if self._last_tokens_op is not None:
            with contextlib.suppress(OpError):  # with the parameter server all others are gone
                session.run(self._last_tokens_op)
        interrupt = getattr(session, "interrupt_blocked", None)
        if self._runner is not None and interrupt is not None:
            interrupt()
        if self._coord is not None:
            self._coord._expect_blocked(self._threads)
