"""Back from spectra to signals, the mel scale, and the order of frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.casts import cast
from dataflow.ops.concat_split import concat, split
from dataflow.ops.elementary import rsqrt
from dataflow.ops.permute import reverse
from dataflow.ops.sources import constant
from dataflow.ops.spectral import dct, irfft
from dataflow.ops.stft import frame, hann_window, overlap_and_add, vorbis_window
from dataflow.shapes import normalize_axis


def inverse_stft_window_fn(
    frame_step: int, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The ``window_fn`` with which `inverse_stft` undoes an `stft` by ``forward_window_fn``.

    The returned function divides the window by the sum of its squares at each place of a frame
    (Griffin and Lim 1984), so that overlapping frames add up to the signal.
    """

    def inverse_window(frame_length: int, dtype: DTypeLike) -> Tensor:
        with op_scope(name, "inverse_stft_window_fn"):
            window = cast(forward_window_fn(frame_length, dtype=dtype), dtype)
            overlaps = -(-frame_length // frame_step)
            squares = array_ops.pad(window * window, [[0, overlaps * frame_step - frame_length]])
            from dataflow.ops.reduce import reduce_sum

            sums = reduce_sum(array_ops.reshape(squares, [overlaps, frame_step]), 0, True)
            denominator = array_ops.reshape(array_ops.tile(sums, [overlaps, 1]), [-1])
            return window / denominator[:frame_length]  # type: ignore[no-any-return]

    return inverse_window


def inverse_stft(
    stfts: Any,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Signals of their short-time Fourier transforms: complex [..., frames, bins] -> [..., size].

    ``window_fn`` of `inverse_stft_window_fn` gives back what `stft` was given, except at the borders.
    """
    with op_scope(name, "inverse_stft", [stfts]):
        x = convert_to_tensor(stfts)
        if fft_length is None:
            fft_length = 2 ** math.ceil(math.log2(frame_length))
        real = irfft(x, [fft_length])
        if fft_length > frame_length:
            real = real[..., :frame_length]
        elif fft_length < frame_length:
            none = [[0, 0]] * (len(real.dims) - 1)
            real = array_ops.pad(real, [*none, [0, frame_length - fft_length]])
        if window_fn is not None:
            real = real * cast(window_fn(frame_length, dtype=real.dtype), real.dtype)
        return overlap_and_add(real, frame_step)


# ---- the mel scale ----------------------------------------------------------------------------


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: float = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Triangular filters that turn spectra into mel bands: [num_spectrogram_bins, num_mel_bins].

    ``tf.tensordot(magnitudes, matrix, 1)`` gives the bands. Frequencies in hertz; a mel is
    1127 ln(1 + f / 700). Raises `ValueError` for edges that are not 0 <= lower < upper <= rate / 2.
    """
    rate = float(sample_rate)
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if rate <= 0:
        raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
    if lower_edge_hertz < 0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(
            f"lower_edge_hertz {lower_edge_hertz} >= upper_edge_hertz {upper_edge_hertz}"
        )
    if upper_edge_hertz > rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got {upper_edge_hertz} for sample_rate: {sample_rate}"
        )

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)

    with op_scope(name, "linear_to_mel_weight_matrix"):
        bins = mel(np.linspace(0.0, rate / 2, num_spectrogram_bins)[1:])[:, None]
        edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
        lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
        rising = (bins - lower) / (center - lower)
        falling = (upper - bins) / (upper - center)
        weights = np.maximum(0.0, np.minimum(rising, falling))
        # The bin of frequency zero belongs to no band.
        return constant(np.pad(weights, [[1, 0], [0, 0]]), as_dtype(dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients: [..., num_mel_bins] -> the same shape.

    The orthonormal-like DCT-II of HTK: ``dct(x) / sqrt(2 num_mel_bins)``; most programs keep the first
    13. Raises `ValueError` where there are 0 bands.
    """
    with op_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms)
        bands = x.dims[-1] if x.dims else None
        if x.dims == () or bands == 0:
            raise ValueError(
                f"num_mel_bins must be positive. Got: {bands} as the last axis of {x.name!r}."
            )
        if bands is None:
            scale = rsqrt(2.0 * cast(array_ops.shape(x)[-1], x.dtype.base_dtype))
        else:
            scale = np.asarray(1 / math.sqrt(2.0 * bands), x.dtype.as_numpy_dtype)
        return dct(x, type=2) * scale  # type: ignore[no-any-return]


# ---- order of frequencies -----------------------------------------------------------------------


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Frequency zero moved to the middle of ``axes`` (default: all), as `numpy.fft.fftshift`."""
    return _shifted(x, axes, name, "fftshift", lambda size: size // 2)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """What `fftshift` did, undone."""
    return _shifted(x, axes, name, "ifftshift", lambda size: -(size // 2))


def _shifted(
    x: TensorLike, axes: AxisLike, name: str | None, default: str, shift: Callable[[Any], Any]
) -> Tensor:
    with op_scope(name, default, [x]):
        x = convert_to_tensor(x)
        if axes is None:
            if x.dims is None:
                raise ValueError(f"{default} needs axes where the rank of x is not known.")
            axes = range(len(x.dims))
        chosen = [axes] if isinstance(axes, int) else [int(a) for a in axes]
        if x.dims is not None:
            chosen = [normalize_axis(a, len(x.dims)) for a in chosen]
        sizes = array_ops.shape(x)
        shifts = [shift(sizes[a]) for a in chosen]
        return array_ops.roll(x, array_ops.stack(shifts), chosen)  # type: ignore[no-any-return]


def mdct(
    signals: Any,
    frame_length: int,
    window_fn: Callable[..., Any] | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform: [..., size] -> [..., frames, frame_length // 2].

    Frames overlap by half. Raises `ValueError` where ``frame_length`` is no multiple of 4. Source:
    Princen, Johnson and Bradley, 1987.
    """
    with op_scope(name, "mdct", [signals]):
        x = convert_to_tensor(signals)
        if frame_length % 4:
            raise ValueError(f"frame_length must be a multiple of 4, got {frame_length}")
        pieces = frame(x, frame_length, frame_length // 2, pad_end)
        pieces = pieces * _mdct_window(window_fn, frame_length, x.dtype)
        a, b, c, d = split(pieces, 4, -1)
        folded = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
        return dct(folded, type=4, norm=norm)


def _mdct_window(window_fn: Callable[..., Any] | None, length: int, dtype: DTypeLike) -> Any:
    return math.sqrt(0.5) if window_fn is None else window_fn(length, dtype=dtype)


def inverse_mdct(
    mdcts: Any,
    window_fn: Callable[..., Any] | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The signal of `mdct`'s result, but its first and last half frame: [..., frames, n] -> [..., size]."""
    with op_scope(name, "inverse_mdct", [mdcts]):
        x = convert_to_tensor(mdcts)
        half = x.dims[-1] if x.dims else None
        if half is None:
            raise ValueError(f"inverse_mdct needs a known last axis, got shape {x.shape}")
        values = dct(x, type=4, norm=norm)
        if norm is None:
            values = values * (0.5 / half)
        first, second = split(values, 2, -1)
        pieces = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
        return overlap_and_add(pieces * _mdct_window(window_fn, 2 * half, x.dtype), half)
