"""Kernels that decode by connectionist temporal classification (Graves et al. 2006).

The beam search is section 3.2 of Graves and Jaitly, Towards End-to-End Speech Recognition (2014):
all prefixes and labels of a frame at once, the only loop is over time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.ctc import bad_input, check_lengths, log_softmax
from dataflow.kernels.registry import kernel

_HOST = "works on short label sequences on the host"


def _sparse(paths: list[list[int]]) -> tuple[Any, Any, Any]:
    longest = max((len(p) for p in paths), default=0)
    indices = [(b, i) for b, path in enumerate(paths) for i in range(len(path))]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array([v for path in paths for v in path], np.int64),
        np.array([len(paths), longest], np.int64),
    )


@kernel("CTCGreedyDecoder", cpu_only=_HOST)
def ctc_greedy_decoder_kernel(
    xp: Module, inputs: Array, sequence_length: Array, *, merge_repeated: bool, blank_index: int
) -> tuple[Any, ...]:
    time, batch, classes = inputs.shape
    blank = blank_index + classes if blank_index < 0 else blank_index
    if not 0 <= blank < classes:
        raise bad_input(f"blank_index {blank_index} is not one of the {classes} classes")
    lengths = check_lengths(sequence_length, time, batch)
    best = inputs.argmax(-1)
    inside = np.arange(time)[:, None] < lengths
    largest = np.take_along_axis(inputs, best[..., None], -1)[..., 0]
    score = -np.where(inside, largest, 0).sum(0)
    keep = inside & (best != blank)
    if merge_repeated:
        keep[1:] &= best[1:] != best[:-1]
    rows, _ = places = np.nonzero(keep.T)
    counts = np.bincount(rows, minlength=batch)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = (
        np.stack([rows, within], 1).astype(np.int64),
        best.T[places].astype(np.int64),
        np.array([batch, counts.max(initial=0)], np.int64),
    )
    return (*found, score.reshape(batch, 1).astype(inputs.dtype))


class _Beam(NamedTuple):
    """The best prefixes, each a node of a tree; scores are logarithms of probabilities."""

    nodes: list[int]
    ends_blank: Any
    ends_label: Any


class _Tree:
    """Prefixes: each node but the first has a parent and a label."""

    def __init__(self) -> None:
        self.parents, self.labels = [-1], [-1]
        self._children: dict[tuple[int, int], int] = {}

    def child(self, node: int, label: int) -> int:
        """The same node each time that it is asked for."""
        found = self._children.get((node, label))
        if found is None:
            found = self._children[node, label] = len(self.parents)
            self.parents.append(node)
            self.labels.append(label)
        return found

    def path(self, node: int) -> list[int]:
        path = []
        while node:
            path.append(self.labels[node])
            node = self.parents[node]
        return path[::-1]


def _search(log_y: Any, beam_width: int) -> list[tuple[list[int], float]]:
    """Prefixes with their log probabilities, the best first. ``log_y``: [time, classes]."""
    tree = _Tree()
    beam = _Beam([0], np.zeros(1), np.full(1, -np.inf))
    for frame in log_y:
        beam = _next_beam(tree, beam, frame, beam_width)
    totals = np.logaddexp(beam.ends_blank, beam.ends_label).tolist()
    return [(tree.path(node), total) for node, total in zip(beam.nodes, totals, strict=True)]


def _next_beam(tree: _Tree, beam: _Beam, frame: Any, beam_width: int) -> _Beam:
    """The beam one frame later: candidates are its prefixes, and each with one more label.

    Of equally probable ones those come first that arise from an earlier prefix.
    """
    nodes, ends_blank, ends_label = beam
    count, blank = len(nodes), len(frame) - 1
    last = np.array([tree.labels[node] for node in nodes])
    total = np.logaddexp(ends_blank, ends_label)
    grown = total[:, None] + frame[:blank]
    has_label = np.flatnonzero(last >= 0)
    own_last = last[has_label]
    grown[has_label, own_last] = ends_blank[has_label] + frame[own_last]
    own_blank = total + frame[blank]
    own_label = np.where(last >= 0, ends_label + frame[last], -np.inf)
    # A prefix whose parent is in the beam, too, is reached from there as well.
    place_of = {node: i for i, node in enumerate(nodes)}
    parents = [place_of.get(tree.parents[node], -1) for node in nodes]
    own_places = np.arange(count) * (1 + blank)
    inner = np.flatnonzero(np.array(parents) >= 0)
    if len(inner):
        above = np.array(parents)[inner], last[inner]
        reached = grown[above]
        own_label[inner] = np.logaddexp(own_label[inner], reached)
        grown[above] = -np.inf
        moved = inner[(above[0] < inner) & (reached > -np.inf)]
        own_places[moved] = np.array(parents)[moved] * (1 + blank) + 1 + last[moved]
    scores = np.full((count, 1 + blank), -np.inf)
    scores[:, 1:] = grown
    flat = scores.reshape(-1)
    flat[own_places] = np.logaddexp(own_blank, own_label)
    owners = np.full(flat.shape, -1)
    owners[own_places] = np.arange(count)
    there = np.flatnonzero((flat > -np.inf) | (owners >= 0))
    chosen = there[np.argsort(-flat[there], kind="stable")[:beam_width]]
    owner = owners[chosen]
    is_own = owner >= 0
    rows, columns = np.divmod(chosen, 1 + blank)
    return _Beam(
        [
            nodes[own] if own >= 0 else tree.child(nodes[row], column - 1)
            for own, row, column in zip(
                owner.tolist(), rows.tolist(), columns.tolist(), strict=True
            )
        ],
        np.where(is_own, own_blank[owner], -np.inf),
        np.where(is_own, own_label[owner], flat[chosen]),
    )


@kernel("CTCBeamSearchDecoder", cpu_only=_HOST)
def ctc_beam_search_decoder_kernel(
    xp: Module,
    inputs: Array,
    sequence_length: Array,
    *,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
) -> tuple[Any, ...]:
    time, batch, _ = inputs.shape
    lengths = check_lengths(sequence_length, time, batch)
    log_y = log_softmax(inputs.astype(np.float64))
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    scores = np.full((batch, top_paths), -np.inf)
    for b in range(batch):
        found = _search(log_y[: lengths[b], b], beam_width)
        if len(found) < top_paths:
            raise bad_input(
                f"fewer paths ({len(found)}) than top_paths ({top_paths}) for sequence {b}: "
                "give fewer top_paths or more classes"
            )
        for i, (path, score) in enumerate(found[:top_paths]):
            if merge_repeated:
                path = [v for j, v in enumerate(path) if j == 0 or path[j - 1] != v]
            paths[i].append(path)
            scores[b, i] = score
    parts = [_sparse(p) for p in paths]
    return (
        *(p[0] for p in parts),
        *(p[1] for p in parts),
        *(p[2] for p in parts),
        scores.astype(inputs.dtype),
    )
