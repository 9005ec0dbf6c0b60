"""`tf.config.threading`: how many threads sessions without a `ConfigProto`, and eager code, use."""

from __future__ import annotations

from dataflow.namespaces import absent
from dataflow.runtime import process_settings

_INTRA = "intra_op_parallelism_threads"
_INTER = "inter_op_parallelism_threads"


def get_intra_op_parallelism_threads() -> int:
    """The most threads of one op; 0: as many as the process has cores."""
    return process_settings.num_threads(_INTRA)


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets the most threads of one op (a product, a convolution); 0: as many as the process has cores.

    It holds for sessions made from now on without a `ConfigProto`. Raises `RuntimeError` when an eager operation has run
    and the number is another one, and `ValueError` for what is no number of threads.
    """
    process_settings.set_num_threads(_INTRA, "Intra op parallelism", num_threads)


def get_inter_op_parallelism_threads() -> int:
    """The most ops that run at a time; 0: as many as the process has cores."""
    return process_settings.num_threads(_INTER)


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Sets the most ops that run at a time; errors as in `set_intra_op_parallelism_threads`."""
    process_settings.set_num_threads(_INTER, "Inter op parallelism", num_threads)


def __getattr__(name: str) -> object:
    raise absent(__name__, name)
