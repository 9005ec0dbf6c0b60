from dataflow.ops.spectrograms import (
    fftshift as fftshift,
    ifftshift as ifftshift,
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from dataflow.ops.stft import (
    frame as frame,
    hamming_window as hamming_window,
    hann_window as hann_window,
    overlap_and_add as overlap_and_add,
    stft as stft,
)
from dataflow.spectral import (
    dct as dct,
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    idct as idct,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
    irfft as irfft,
    irfft2d as irfft2d,
    irfft3d as irfft3d,
    rfft as rfft,
    rfft2d as rfft2d,
    rfft3d as rfft3d,
)
from dataflow.ops.spectrograms import (
    inverse_mdct as inverse_mdct,
    mdct as mdct,
)
from dataflow.ops.stft import (
    kaiser_bessel_derived_window as kaiser_bessel_derived_window,
    kaiser_window as kaiser_window,
    vorbis_window as vorbis_window,
)
