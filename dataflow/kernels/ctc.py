"""Kernels of connectionist temporal classification (Graves et al. 2006).

The forward and backward variables of section 4.1 of the paper, as logarithms, for all sequences of
the batch and all label positions at once; the only loop is over time.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.registry import kernel

_HOST = "works on short label sequences on the host"


def _bad(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def _check_lengths(sequence_length: Any, time: int, batch: int) -> Any:
    lengths = np.asarray(sequence_length)
    if lengths.shape != (batch,):
        raise _bad(f"len(sequence_length) != batch_size: {lengths.shape[0]} vs. {batch}")
    if batch and not (int(lengths.min()) >= 0 and int(lengths.max()) <= time):
        raise _bad(f"sequence_length must be in [0, {time}], got {lengths.tolist()}")
    return lengths


def _log_softmax(x: Any) -> Any:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _label_lists(
    indices: Any, values: Any, batch: int, blank: int, collapse: bool
) -> list[list[int]]:
    labels: list[list[int]] = [[] for _ in range(batch)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise _bad(f"labels_indices names the sequence {row} of {batch}")
        if not 0 <= value < blank:
            raise _bad(
                f"Saw a non-null label (index >= num_classes - 1) following a null label, or a "
                f"label outside: batch: {row} label: {value}, num_classes: {blank + 1}"
            )
        if not (collapse and labels[row] and labels[row][-1] == value):
            labels[row].append(value)
    return labels


def _skips(extended: Any, blank: int, merge_repeated: bool) -> Any:
    """Positions that may follow the one two before: no blank, and no repeated label."""
    allowed = extended != blank
    allowed[:, :2] = False
    if merge_repeated:
        allowed[:, 2:] &= extended[:, 2:] != extended[:, :-2]
    return allowed


@kernel("CTCLoss", cpu_only=_HOST)
def ctc_loss_kernel(
    xp: Any,
    inputs: Any,
    labels_indices: Any,
    labels_values: Any,
    sequence_length: Any,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> tuple[Any, Any]:
    time, batch, classes = inputs.shape
    blank = classes - 1
    lengths = _check_lengths(sequence_length, time, batch)
    labels = _label_lists(labels_indices, labels_values, batch, blank, preprocess_collapse_repeated)
    used = np.ones(batch, bool)
    for b, label in enumerate(labels):
        repeats = sum(p == q for p, q in itertools.pairwise(label))
        required = len(label) + (repeats if ctc_merge_repeated else 0)
        if lengths[b] == 0:
            used[b] = False
        elif required > lengths[b]:
            if not ignore_longer_outputs_than_inputs:
                raise _bad(
                    "Not enough time for target transition sequence (required: "
                    f"{required}, available: {int(lengths[b])}){b}. Give "
                    "ignore_longer_outputs_than_inputs=True to leave such sequences out."
                )
            used[b] = False
    width = 2 * max((len(label) for label in labels), default=0) + 1
    extended = np.full((batch, width), blank)
    sizes = np.array([2 * len(label) + 1 for label in labels], int)
    for b, label in enumerate(labels):
        extended[b, 1 : 2 * len(label) : 2] = label
    log_y = _log_softmax(inputs.astype(np.float64))
    rows = np.arange(batch)[:, None]
    emit = log_y[:, rows, extended]  # [time, batch, width]
    stay = np.where((extended == blank) | ctc_merge_repeated, 0.0, -np.inf)
    skip = np.where(_skips(extended, blank, ctc_merge_repeated), 0.0, -np.inf)
    valid = np.where(np.arange(width) < sizes[:, None], 0.0, -np.inf)
    with np.errstate(invalid="ignore"):
        alpha = np.full((time, batch, width), -np.inf)
        alpha[0, :, :2] = emit[0, :, :2]
        alpha[0] += valid
        for t in range(1, time):
            before = alpha[t - 1]
            total = before + stay
            total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
            total[:, 2:] = np.logaddexp(total[:, 2:], before[:, :-2] + skip[:, 2:])
            alpha[t] = total + emit[t] + valid
        # beta leaves out the emission at its own time, so alpha + beta is the whole path.
        final = np.full((batch, width), -np.inf)
        final[np.arange(batch), sizes - 1] = 0
        longer = sizes > 1
        final[np.flatnonzero(longer), sizes[longer] - 2] = 0
        beta = np.full((time, batch, width), -np.inf)
        for t in range(time - 1, -1, -1):
            if t + 1 < time:
                after = beta[t + 1] + emit[t + 1]
                total = after + stay
                total[:, :-1] = np.logaddexp(total[:, :-1], after[:, 1:])
                total[:, :-2] = np.logaddexp(total[:, :-2], (after + skip)[:, 2:])
                beta[t] = total
            beta[t, lengths == t + 1] = final[lengths == t + 1]
        paths = alpha + beta
        log_p = np.logaddexp.reduce(paths[0], axis=1) if time else np.zeros(batch)
        posterior = np.exp(paths - log_p[None, :, None])
    gradient = np.exp(log_y)
    possible = used & np.isfinite(log_p)
    for b in np.flatnonzero(possible).tolist():
        n = lengths[b]
        np.subtract.at(gradient[:n, b].T, extended[b, : sizes[b]], posterior[:n, b, : sizes[b]].T)
        gradient[n:, b] = 0
    gradient[:, ~possible] = 0
    loss = np.where(used, -log_p, 0.0)
    return loss.astype(inputs.dtype), gradient.astype(inputs.dtype)


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
    xp: Any, inputs: Any, sequence_length: Any, *, merge_repeated: bool, blank_index: int
) -> tuple[Any, ...]:
    time, batch, classes = inputs.shape
    blank = blank_index + classes if blank_index < 0 else blank_index
    if not 0 <= blank < classes:
        raise _bad(f"blank_index {blank_index} is not one of the {classes} classes")
    lengths = _check_lengths(sequence_length, time, batch)
    best = inputs.argmax(-1)
    inside = np.arange(time)[:, None] < lengths
    score = -np.where(inside, inputs.max(-1) if time else 0, 0).sum(0)
    keep = inside & (best != blank)
    if merge_repeated:
        keep[1:] &= best[1:] != best[:-1]
    paths = [best[keep[:, b], b].tolist() for b in range(batch)]
    return (*_sparse(paths), score.reshape(batch, 1).astype(inputs.dtype))


def _search(log_y: Any, beam_width: int) -> list[tuple[tuple[int, ...], float]]:
    """Prefixes with their log probabilities, the best first. ``log_y``: [time, classes]."""
    blank = log_y.shape[1] - 1
    # prefix -> (log probability of ending in a blank, ... in its last label)
    beam: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -np.inf)}
    for frame in log_y:
        found: dict[tuple[int, ...], list[float]] = {}
        scores = frame.tolist()
        for prefix, (ends_blank, ends_label) in beam.items():
            total = np.logaddexp(ends_blank, ends_label)
            entry = found.setdefault(prefix, [-np.inf, -np.inf])
            entry[0] = np.logaddexp(entry[0], total + scores[blank])
            last = prefix[-1] if prefix else -1
            if prefix:
                entry[1] = np.logaddexp(entry[1], ends_label + scores[last])
            for label in range(blank):
                grown = (ends_blank if label == last else total) + scores[label]
                if grown > -np.inf:
                    longer = found.setdefault((*prefix, label), [-np.inf, -np.inf])
                    longer[1] = np.logaddexp(longer[1], grown)
        ranked = sorted(found.items(), key=lambda item: -np.logaddexp(item[1][0], item[1][1]))
        beam = {prefix: (p[0], p[1]) for prefix, p in ranked[:beam_width]}
    return [(prefix, float(np.logaddexp(*p))) for prefix, p in beam.items()]


@kernel("CTCBeamSearchDecoder", cpu_only=_HOST)
def ctc_beam_search_decoder_kernel(
    xp: Any,
    inputs: Any,
    sequence_length: Any,
    *,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
) -> tuple[Any, ...]:
    time, batch, _ = inputs.shape
    lengths = _check_lengths(sequence_length, time, batch)
    log_y = _log_softmax(inputs.astype(np.float64))
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    scores = np.full((batch, top_paths), -np.inf)
    for b in range(batch):
        found = _search(log_y[: lengths[b], b], beam_width)
        if len(found) < top_paths:
            raise _bad(
                f"fewer paths ({len(found)}) than top_paths ({top_paths}) for sequence {b}: "
                "give fewer top_paths or more classes"
            )
        for i, (prefix, score) in enumerate(found[:top_paths]):
            path = list(prefix)
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
