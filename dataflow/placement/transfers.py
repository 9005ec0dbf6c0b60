"""Copies between memories as nodes: each value goes to each memory once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dataflow.device_spec import DeviceSpec
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.transfer import COPIES, copy_to_device, copy_to_host
from dataflow.placement.memory import ANY, DEVICE, memory_of
from dataflow.rewrites.working_graph import WorkingGraph

CPU = "cpu"


class Placed(NamedTuple):
    """What to run in place of the given nodes.

    ``kernel_devices``: ``"gpu:0"`` for each node whose kernel runs on that GPU (the others' run on
    the CPU); ``origin`` leads from these nodes to the given ones; ``fetch_places`` says where each
    fetched value is left (``"cpu"``, ``"gpu:0"``), nothing where there is no GPU.
    """

    ops: list[Operation]
    fetches: list[Tensor]
    feeds: list[Tensor]
    origin: dict[Operation, Operation]
    kernel_devices: dict[Operation, str]
    fetch_places: tuple[str, ...] = ()


def devices_of_feeds(placed: Placed) -> list[str]:
    """For each feed the one GPU that its value is copied to, ``""`` where the host looks at it."""
    readers: dict[Tensor, set[str]] = {t: set() for t in placed.feeds}
    for tensor in placed.fetches:
        if tensor in readers:
            readers[tensor].add("")
    for op in placed.ops:
        if op.op_def.shape_only:
            continue
        device = short_name(op.device) if op.type in COPIES else ""
        for tensor in op.inputs:
            if tensor in readers:
                readers[tensor].add(device)
    return [found.pop() if len(found) == 1 else "" for found in readers.values()]


def short_name(device: str) -> str:
    """``"cpu"`` or ``"gpu:0"`` for a device's full name."""
    spec = DeviceSpec.from_string(device)
    return f"gpu:{spec.device_index or 0}" if spec.device_type == "GPU" else CPU


def insert_copies(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    fetch_operations: Iterable[Operation],
    feeds: Sequence[Tensor],
    devices: dict[Operation, str],
    feed_places: Sequence[str] = (),
    fetch_places: Sequence[str | None] = (),
) -> Placed:
    """The nodes with a copy wherever a value is needed in another memory than its own.

    ``devices``: the full device name of each node, from `place`. Fed values arrive in the host's
    memory or in their ``feed_places``; fetched ones are left where they are, or brought to their
    ``fetch_places`` (None: wherever it is).
    """
    copies = _Copies(WorkingGraph(ops, fetches, fetch_operations, feeds), devices, feed_places)
    wanted = copies.place_nodes()
    _leave_constants_on_host(wanted, copies.kernel_devices, copies.place_of)
    for op, places in wanted:
        copies.bring_inputs(op, places)
    copies.bring_fetches(fetch_places)
    work = copies.work
    found = work.fetch_tensors()
    return Placed(
        work.needed(),
        found,
        work.feed_tensors,
        work.origin,
        copies.kernel_devices,
        tuple(copies.place_of[t] for t in found),
    )


class _Copies:
    """The copies of values between memories that the nodes of a working graph need."""

    def __init__(
        self, work: WorkingGraph, devices: dict[Operation, str], feed_places: Sequence[str]
    ) -> None:
        self.work = work
        self._devices = devices
        self.kernel_devices: dict[Operation, str] = {}
        #: In which memory each value is.
        self.place_of: dict[Tensor, str] = dict.fromkeys(work.feed_tensors, CPU)
        self.place_of.update(zip(work.feed_tensors, feed_places, strict=False))
        self._copies: dict[tuple[Tensor, str], Tensor] = {}

    def place_nodes(self) -> list[tuple[Operation, tuple[str, ...]]]:
        """Give each node its device; the nodes, and in which memory each needs its inputs."""
        work, place_of = self.work, self.place_of
        wanted: list[tuple[Operation, tuple[str, ...]]] = []
        for op in [o for o in work.graph.get_operations() if o in work.origin_ops]:
            full_name = self._devices[work.origin[op]]
            op.device = full_name
            device = short_name(full_name)
            if device == CPU:
                wanted.append((op, (CPU,) * len(op.inputs)))
                place_of.update((t, CPU) for t in op.outputs if t not in place_of)
                continue
            memory = memory_of(op, lambda t: place_of.get(t) == CPU)
            if not memory.on_host:
                self.kernel_devices[op] = device
            places = tuple(device if m == DEVICE else m if m == ANY else CPU for m in memory.inputs)
            wanted.append((op, places))
            for tensor, where in zip(op.outputs, memory.outputs, strict=True):
                place_of.setdefault(tensor, device if where == DEVICE else CPU)
        return wanted

    def bring_inputs(self, op: Operation, places: Sequence[str]) -> None:
        """Let a node read copies of the inputs that are in another memory than it needs."""
        work = self.work
        for i, (tensor, place) in enumerate(zip(op.inputs, places, strict=True)):
            if place == ANY or self.place_of[tensor] == place:
                continue
            source = tensor
            if op.op_def.control_flow == "switch" and i == 1:
                source = _behind_identities(tensor, work.fixed, set(self._copies.values()))
                if self.place_of[source] == place:
                    work.set_input(op, i, source)
                    continue
            work.set_input(op, i, self._copy(source, place))

    def bring_fetches(self, fetch_places: Sequence[str | None]) -> None:
        """Leave what is fetched where it is asked for."""
        for tensor, place in zip(self.work.fetch_tensors(), fetch_places, strict=False):
            if place not in (None, self.place_of[tensor]):
                self.work.set_fetch(tensor, self._copy(tensor, place))

    def _copy(self, source: Tensor, place: str) -> Tensor:
        """The one copy of a value in this memory."""
        copy = self._copies.get((source, place))
        if copy is None:
            home = self.place_of[source]
            copy = _copy(self.work, source, home, place, self._devices)
            self._copies[source, place] = copy
            self.place_of[copy] = place
            self.kernel_devices[copy.op] = place if place != CPU else home
        return copy


def _leave_constants_on_host(
    wanted: Sequence[tuple[Operation, tuple[str, ...]]],
    kernel_devices: dict[Operation, str],
    place_of: dict[Tensor, str],
) -> None:
    """A constant that only the host reads, the elements of a data set say, is not sent to a GPU."""
    readers: dict[Tensor, set[str]] = {}
    for op, places in wanted:
        for tensor, place in zip(op.inputs, places, strict=True):
            readers.setdefault(tensor, set()).add(place)
    for op, _ in wanted:
        if op.type == "Const" and op in kernel_devices:
            if readers.get(op.outputs[0]) == {CPU}:
                del kernel_devices[op]
                place_of[op.outputs[0]] = CPU


def _behind_identities(tensor: Tensor, fixed: set[Tensor], copies: set[Tensor]) -> Tensor:
    """What an Identity is a copy of: all switches of a cond must test one and the same tensor.

    An Identity on a GPU may have a copy of it by now; the host has what was copied.
    """
    while tensor in copies or (tensor.op.type == "Identity" and tensor not in fixed):
        if tensor.op.control_inputs or tensor.op.inputs[0].dtype.is_ref:
            break
        tensor = tensor.op.inputs[0]
    return tensor


def _copy(
    work: WorkingGraph, tensor: Tensor, source: str, place: str, devices: dict[Operation, str]
) -> Tensor:
    op_def = copy_to_host if place == CPU else copy_to_device
    name = f"{tensor.op.name}/copy_to_{'host' if place == CPU else place.replace(':', '_')}"
    if tensor.value_index:
        name += f"_{tensor.value_index}"
    copy = work.add_unary(op_def, tensor, name)
    on_gpu = place if place != CPU else source
    task = next(iter(devices.values())).rpartition("/device:")[0]
    copy.op.device = f"{task}/device:{on_gpu.upper()}"
    return copy
