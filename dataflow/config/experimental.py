"""`tf.config.experimental`: how exactly GPUs multiply."""

from __future__ import annotations

from dataflow.kernels.cuda.precision import enable_tf32, tf32_enabled
from dataflow.namespaces import absent


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Lets GPUs of this process multiply ``float32`` matrices as TensorFloat-32, or forbids it.

    Products and convolutions then round their inputs from 23 bits after the point to 10, add up in
    single precision, and are several times faster on an A100 and everything later; older GPUs
    compute in full all the same, and so do products of many matrices at a time (rank 3 and more)
    and every other dtype but ``complex64``.

    Off by default, unlike in TensorFlow 2.4 and later: what is learned on a CPU holds on a GPU, to
    the last digits. CuPy's variable ``CUPY_TF32`` changes nothing. Choose before the first run:
    a CUDA graph that was captured goes on as it was. A pretend GPU rounds as a real one does.
    """
    enable_tf32(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """Whether TensorFloat-32 may be used; ``False`` unless it was enabled."""
    return tf32_enabled()


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
