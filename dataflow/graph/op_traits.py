"""Traits: what the engine has to know about an op beside its signature and its shape rule.

A trait is declared where the op is defined, ``define_op("MutexLock", ..., blocks=True)``, and read as
an attribute of its `OpDef`, ``op.op_def.blocks``. What nothing was said about has the default, which
is always the safe one: it costs speed at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from dataflow.graph.operation import Operation

#: What a node of control flow does: see `OpTraits.control_flow`.
ControlFlow = Literal["", "switch", "merge", "enter", "exit", "next_iteration", "loop_cond"]


class OpTraits:
    """The traits of an op, with their defaults. `OpDef` inherits them."""

    #: The kernel may wait for another run, or for the outside world: a dequeue, a lock, a Python
    #: function. A cluster gives such a node a segment of its own, so that nothing else waits with
    #: it, and the step a cancellation, so that a closed session ends the wait.
    blocks: bool = False
    #: The kernel calls a function of the user's, so nobody can tell when it waits: where another op of
    #: the step may wait, too, the call is made in a thread of its own (see `runtime.waiting`).
    calls_python: bool = False
    #: The step holds a lock from here on, by its thread: it is computed by that one alone.
    takes_lock: bool = False
    #: Where the kernel would wait it can be left undone, and tried again on any thread when what it
    #: waits for has changed (`KernelContext.postpone_unless`), so that no thread of a cluster's task
    #: waits meanwhile.
    can_retry: bool = False
    #: The kernel only looks up the resource that the node names, and makes it the first time; a
    #: cluster's task may do that before it is asked to.
    is_handle: bool = False
    #: It is stateful because its result depends on a resource, which it looks at and does not change: nobody
    #: notices where it is left out.
    only_looks: bool = False
    #: A run of the op fails, or does nothing; which of the two depends on its inputs alone.
    only_checks: bool = False
    #: What the op does in a loop or conditional, the same for its twin that takes references
    #: (RefSwitch); empty for what computes. The place of such a node, its control edges too, says
    #: to which branch or round others belong, so no rewrite moves or merges it, and the code
    #: generator writes ``if`` and ``while`` for it.
    control_flow: ControlFlow = ""

    #: The output is the first input itself, and no kernel is called; the value of a variable that is
    #: handed in by reference is taken where it is used. Read by the code generator, and by all who
    #: look through such nodes.
    is_alias: bool = False
    #: The output is a reference to a variable, which the session or task holds under the node's name.
    is_variable: bool = False
    #: The variants that it makes are lists of tensors, which are values, and not handles of a resource.
    makes_lists: bool = False
    #: It gives a variable the value of its second input, whole, and may keep that array. Read by the code
    #: generator, as what the plan itself assigns is read when it is used.
    is_assignment: bool = False
    #: It gives slices of its first input, rows of a variable say, whose numbers are its second.
    gathers: bool = False
    #: Its output is its first input, which it prints or checks for whoever debugs the graph.
    is_debug_identity: bool = False
    #: What it does is seen from outside of the graph: it prints, calls Python, or is there to raise.
    #: Rewrites do not change what such a node waits for.
    has_side_effect: bool = False

    #: Each element of the result is computed from one element of each input, which broadcast as in
    #: NumPy. Read by `rewrites.symbolic_shapes`.
    elementwise: bool = False
    #: Ragged tensors for its inputs keep their rows: each element of the result comes of one element
    #: of each input. True of what is ``elementwise``.
    keeps_rows: bool = False
    #: The inputs must all have the shape of the result; the kernel refuses others.
    equal_shapes: bool = False
    #: The number of the input whose shape the result has; ``None`` where no rule so simple holds.
    shape_like: int | None = None
    #: The number of the input whose value is the shape of the result.
    shape_input: int | None = None
    #: The CPU kernel returns memory that belongs to nobody else: no input, view of one, or constant.
    #: `runtime.buffers` then lets a later node write over it. True of what is ``elementwise``.
    own_memory: bool = False
    #: As `own_memory`, for an op of several results: the numbers of those of which it is true, and that share
    #: no memory with the others.
    own_results: tuple[int, ...] = ()
    #: The kernel keeps nothing of its inputs beyond the call, and returns no view of one, so that
    #: they can be written over once they are dead; a function where it hangs on the node. True of
    #: what has ``own_memory``.
    keeps_nothing: bool | Callable[[Operation], bool] = False
    #: The kernel calls BLAS, whose own threads sleep while such a plan or segment runs.
    calls_blas: bool = False
    #: The kernel takes no longer than a pass over what it is given or makes, so that a thread which
    #: serves another step may run it on the way. Read by the cluster.
    inline_safe: bool = False

    #: Names of the inputs that the kernel of a GPU wants in the host's memory. Where an op declares
    #: none, those of its inputs that have one of the names in `HOST_ARGUMENTS`.
    host_inputs: tuple[str, ...] = ()
    #: Names of the outputs that are left in the host's memory. When all are, the CPU's kernel runs.
    host_outputs: tuple[str, ...] = ()
    #: It has a kernel for the GPU even where all that it computes is int32.
    int32_on_device: bool = False
    #: Microseconds of an element of the largest operand or result, or a function of the node that
    #: gives its microseconds, in one thread of a common processor. `runtime.concurrency` hands out to
    #: other threads what is worth it by that.
    cost: float | Callable[[Operation], float] = 0.0007
    #: Whether the CPU kernel shares its work among threads: always, where it makes or takes many
    #: elements, or, for matrix products, where it multiplies much.
    shares_work: Literal["", "always", "large", "product"] = ""
    #: The kernel of a GPU leaves out the rows whose index is -1. `rewrites.repeated_rows` gives it such.
    skips_negative_rows: bool = False
    #: Python's operator for what the kernel computes, and the kinds of dtypes (as NumPy's ``kind``) for
    #: which it gives the same: on scalars it is five times as quick as the call of a ufunc. Both
    #: operands have the same dtype, so NumPy's promotion cannot change it. Written by the code generator.
    operator: tuple[str, str] | None = None
    #: It computes something of all elements along the axes that its second input names.
    is_reduction: bool = False
    #: It changes a variable, and its slots, by an optimizer's rule and a gradient, dense or of rows.
    #: `rewrites.multi_tensor_updates` lets one node make many of these.
    follows_rule: bool = False
    #: Attributes that the op got after TensorFlow 1.15, which refuses a node that names one, and their
    #: defaults: a GraphDef names them only where they have another value.
    later_attrs: dict[str, Any] = {}
    #: It looks at the shapes of its inputs and never at their values.
    shape_only: bool = False
    #: The number of the input whose memory the result looks at, where NumPy allows that.
    view_of: int | None = None

    def _set_traits(self, traits: dict[str, Any]) -> None:
        """Sets what an op declares, and what follows; the rest stays as the class has it."""
        if traits.get("elementwise"):
            traits = {"own_memory": True, "keeps_rows": True, **traits}
        if traits.get("own_memory"):
            traits = {"keeps_nothing": True, **traits}
        if traits.get("view_of") is not None or traits.get("shape_only") or traits.get("is_alias"):
            traits = {"cost": 0.0, **traits}
        for name, value in traits.items():
            setattr(self, name, value)


TRAITS = frozenset(OpTraits.__annotations__)

#: Arguments of these names say how to compute, which the host has to know to launch anything.
HOST_ARGUMENTS = frozenset(
    {
        *("axis", "axes", "begin", "block_shape", "concat_dim", "crops", "depth", "dim"),
        *("dimension", "dims", "element_shape", "end", "fft_length", "filter_sizes"),
        *("global_step", "index", "input_sizes", "k", "lengths", "max_num_elements", "max_size"),
        *("min_size", "multiples", "n", "nbins", "new_global_step", "num", "num_cols"),
        *("num_lower", "num_required", "num_rows", "num_samples", "num_segments", "num_upper"),
        *("orig_input_shape", "output_shape", "paddings", "perm", "pred", "reduction_indices"),
        *("reps", "row_shape", "seed", "shape", "shift", "size", "size_splits", "sizes"),
        *("split_dim", "strides", "a_shape"),
    }
)
