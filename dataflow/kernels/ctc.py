"""Kernels of connectionist temporal classification (Graves et al. 2006).

The forward and backward variables of section 4.1 of the paper, scaled at each time (or as logarithms,
where they are too small for that), for all sequences of the batch and all label positions at once;
the only loop is over time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

_HOST = "works on short label sequences on the host"


def bad_input(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def check_lengths(sequence_length: Any, time: int, batch: int) -> Any:
    lengths = np.asarray(sequence_length)
    if lengths.shape != (batch,):
        raise bad_input(f"len(sequence_length) != batch_size: {lengths.shape[0]} vs. {batch}")
    if batch and not (int(lengths.min()) >= 0 and int(lengths.max()) <= time):
        raise bad_input(f"sequence_length must be in [0, {time}], got {lengths.tolist()}")
    return lengths


def log_softmax(x: Array) -> Any:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _label_lists(
    indices: Array, values: Any, batch: int, blank: int, collapse: bool
) -> list[list[int]]:
    labels: list[list[int]] = [[] for _ in range(batch)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise bad_input(f"labels_indices names the sequence {row} of {batch}")
        if not 0 <= value < blank:
            raise bad_input(
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
    xp: Module,
    inputs: Array,
    labels_indices: Array,
    labels_values: Array,
    sequence_length: Array,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> tuple[Any, Any]:
    time, batch, classes = inputs.shape
    blank = classes - 1
    lengths = check_lengths(sequence_length, time, batch)
    labels = _label_lists(labels_indices, labels_values, batch, blank, preprocess_collapse_repeated)
    used = np.ones(batch, bool)
    for b, label in enumerate(labels):
        # As in TensorFlow, blanks between equal labels do not count: without the time for them no
        # path is possible, so the loss is infinite and its gradient that of the inputs' softmax.
        if len(label) > lengths[b]:
            if not ignore_longer_outputs_than_inputs:
                raise bad_input(
                    "Not enough time for target transition sequence (required: "
                    f"{len(label)}, available: {int(lengths[b])}){b}. Give "
                    "ignore_longer_outputs_than_inputs=True to leave such sequences out."
                )
            used[b] = False
        elif lengths[b] == 0:
            used[b] = False
    width = 2 * max((len(label) for label in labels), default=0) + 1
    extended = np.full((batch, width), blank)
    sizes = np.array([2 * len(label) + 1 for label in labels], int)
    for b, label in enumerate(labels):
        extended[b, 1 : 2 * len(label) : 2] = label
    shifted = inputs.astype(np.float64)
    shifted -= shifted.max(-1, keepdims=True)
    y = np.exp(shifted)
    sums = y.sum(-1, keepdims=True)
    y /= sums
    stay = (extended == blank) | ctc_merge_repeated
    lattice = _Lattice(extended, sizes, lengths, stay, _skips(extended, blank, ctc_merge_repeated))
    log_p, posterior, doubtful = _scaled(y, lattice)
    if doubtful.any():
        log_y = (shifted - np.log(sums))[:, doubtful]
        log_p[doubtful], posterior[:, :, doubtful] = _in_logarithms(log_y, lattice.of(doubtful))
    gradient = y
    # Of a label that comes several times the sum is taken away; places past the end have none.
    is_label = (extended[:, :, None] == np.arange(classes)).astype(float)
    gradient -= np.matmul(posterior.transpose(2, 0, 1), is_label).transpose(1, 0, 2)
    gradient[:, np.isnan(log_p)] = np.nan
    gradient[np.arange(time)[:, None] >= np.where(used, lengths, 0)] = 0
    loss = np.where(used, -log_p, 0.0)
    return loss.astype(inputs.dtype), gradient.astype(inputs.dtype)


class _Lattice(NamedTuple):
    """Labels with blanks between them, ``extended`` [batch, width], and how a path moves on.

    Of each sequence ``sizes`` places and ``lengths`` times count. A path may ``stay`` at a place, go
    on to the next, and to the one after that where it may ``skip`` to it.
    """

    extended: Any
    sizes: Any
    lengths: Any
    stay: Any
    skip: Any

    def of(self, sequences: Any) -> _Lattice:
        """That of some sequences."""
        return _Lattice(*(x[sequences] for x in self))

    def valid(self) -> Any:
        """The places that count."""
        return np.arange(self.extended.shape[1]) < self.sizes[:, None]

    def ends(self) -> Any:
        """Where a path may end: the last blank and the last label."""
        place = np.arange(self.extended.shape[1])
        return (place == self.sizes[:, None] - 1) | (place == self.sizes[:, None] - 2)


#: Sums of products of scaled probabilities below this may lack what was too small for a number.
_DOUBTFUL = 1e-250


def _scaled(y: Array, lattice: _Lattice) -> tuple[Any, Any, Any]:
    """The logarithms of the labels' probabilities [batch], the probability of each place at each
    time [time, width, batch], and of which sequences they are doubtful.

    The variables of each time add up to one: their products with those that come from the end may
    then be too small only where they do not matter. Where the sum of such products is tiny, that
    is not certain, and the sequence is computed again `_in_logarithms`.
    """
    time, batch, classes = y.shape
    lengths = lattice.lengths
    # Sequences lie side by side: a step along the places is one along whole rows.
    places = (np.arange(batch)[:, None] * classes + lattice.extended).T
    emit = y.reshape(time, batch * classes).take(places, 1)
    emit *= lattice.valid().T
    stay, skip, ends = (x.T.astype(float) for x in (lattice.stay, lattice.skip, lattice.ends()))
    stays = None if stay.all() else stay
    forward, backward = np.zeros_like(emit), np.zeros_like(emit)
    scales = np.ones((time, batch))
    room, least = np.empty_like(emit[0]), np.finfo(float).tiny
    forward[:1, :2] = emit[:1, :2]
    for t in range(time):
        now = forward[t]
        if t:
            before = forward[t - 1]
            np.copyto(now, before) if stays is None else np.multiply(before, stays, now)
            now[1:] += before[:-1]
            now[2:] += np.multiply(before[:-2], skip[2:], room[2:])
            now *= emit[t]
        now /= np.maximum(np.add.reduce(now, 0, None, scales[t]), least)
    # What comes from the end leaves out the emission at its own time: together they are a path's.
    last = [np.flatnonzero(lengths == t + 1) for t in range(time)]
    after = np.empty_like(room)
    for t in range(time - 1, -1, -1):
        now = backward[t]
        if t + 1 < time:
            np.multiply(backward[t + 1], emit[t + 1], after)
            np.copyto(now, after) if stays is None else np.multiply(after, stays, now)
            now[:-1] += after[1:]
            now[:-2] += np.multiply(after[2:], skip[2:], room[2:])
            now /= np.maximum(np.add.reduce(now, 0), least)
        if last[t].size:
            now[:, last[t]] = ends[:, last[t]]
    counts = np.arange(time)[:, None] < lengths
    forward *= backward
    totals = np.add.reduce(forward, 1)
    doubtful = ~((totals >= _DOUBTFUL) | ~counts).all(0)  # so is what is no number
    forward /= np.maximum(totals, least)[:, None]
    log_p = np.zeros(batch)
    if time:
        with np.errstate(divide="ignore"):
            log_p += np.log(scales, where=counts, out=np.zeros_like(scales)).sum(0)
            log_p += np.where(lengths > 0, np.log(totals[lengths - 1, np.arange(batch)]), 0.0)
    return log_p, forward, doubtful


def _in_logarithms(log_y: Any, lattice: _Lattice) -> tuple[Any, Any]:
    """The first two of `_scaled`, for probabilities of any size."""
    time = log_y.shape[0]
    extended, _, lengths, stays, skips = lattice
    emit = np.take_along_axis(log_y, np.broadcast_to(extended, (time, *extended.shape)), 2)
    stay, skip, valid, final = (
        np.where(allowed, 0.0, -np.inf)
        for allowed in (stays, skips, lattice.valid(), lattice.ends())
    )
    with np.errstate(invalid="ignore"):
        alpha = np.full(emit.shape, -np.inf)
        alpha[0, :, :2] = emit[0, :, :2]
        alpha[0] += valid
        for t in range(1, time):
            before = alpha[t - 1]
            total = before + stay
            total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
            total[:, 2:] = np.logaddexp(total[:, 2:], before[:, :-2] + skip[:, 2:])
            alpha[t] = total + emit[t] + valid
        beta = np.full(emit.shape, -np.inf)
        for t in range(time - 1, -1, -1):
            if t + 1 < time:
                after = beta[t + 1] + emit[t + 1]
                total = after + stay
                total[:, :-1] = np.logaddexp(total[:, :-1], after[:, 1:])
                total[:, :-2] = np.logaddexp(total[:, :-2], (after + skip)[:, 2:])
                beta[t] = total
            beta[t, lengths == t + 1] = final[lengths == t + 1]
        paths = alpha + beta
        log_p = np.logaddexp.reduce(paths[0], axis=1)
        posterior = np.exp(paths - log_p[None, :, None])
    return log_p, np.where(np.isfinite(log_p)[:, None], posterior, 0.0).transpose(0, 2, 1)
