"""`TensorSignature`: dtype, shape and kind of the tensors that an input function gives, to compare and to feed."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.ops.casts import cast
from dataflow.ops.parsing import FixedLenFeature, VarLenFeature, parse_example
from dataflow.ops.sources import placeholder
from dataflow.ops.sparse_tensor import SparseTensor, sparse_placeholder


class _Signature(NamedTuple):
    dtype: Any
    shape: Any
    is_sparse: bool


class TensorSignature(_Signature):
    """What is known of a tensor: dtype, shape (None for a sparse one), and whether it is sparse."""

    __slots__ = ()

    def __new__(cls, tensor: Any) -> TensorSignature:
        """The signature of a tensor, or of a `SparseTensor`."""
        if isinstance(tensor, SparseTensor):
            return super().__new__(cls, tensor.values.dtype, None, True)
        return super().__new__(cls, tensor.dtype, tensor.get_shape(), False)

    def is_compatible_with(self, other: TensorSignature) -> bool:
        """Whether kinds and dtypes are the same, and shapes are but for the batch's size."""
        if self.is_sparse != other.is_sparse or not self.dtype.is_compatible_with(other.dtype):
            return False
        if self.is_sparse or self.shape.ndims is None or other.shape.ndims is None:
            return True
        return self.shape[1:].is_compatible_with(other.shape[1:])  # type: ignore[no-any-return]

    def get_placeholder(self) -> Any:
        """A placeholder for such tensors, of any batch size."""
        if self.is_sparse:
            return sparse_placeholder(self.dtype)
        if self.shape.ndims is None:
            return placeholder(self.dtype)
        return placeholder(self.dtype, [None, *self.shape.as_list()[1:]])

    def get_feature_spec(self) -> Any:
        """What `tf.parse_example` needs for one; raises `ValueError` for an unknown shape."""
        kind = self.dtype.base_dtype
        if kind is not dtypes.string:
            kind = dtypes.float32 if kind.is_floating else dtypes.int64
        if self.is_sparse:
            return VarLenFeature(kind)
        if self.shape.ndims is None or not self.shape[1:].is_fully_defined():
            raise ValueError(
                f"The shape {self.shape} of a feature must be known but for the batch."
            )
        return FixedLenFeature(self.shape.as_list()[1:], kind)


def tensors_compatible(tensors: Any, signatures: Any) -> bool:
    """Whether a tensor, or a dict of them, fits the signature, or the dict of them; more tensors may be there."""
    if tensors is None or signatures is None:
        return tensors is None and signatures is None
    if isinstance(tensors, dict) != isinstance(signatures, dict):
        return False
    if not isinstance(signatures, dict):
        return TensorSignature(tensors).is_compatible_with(signatures)
    return all(
        name in tensors and TensorSignature(tensors[name]).is_compatible_with(signature)
        for name, signature in signatures.items()
    )


def create_signatures(tensors: Any) -> Any:
    """The signature of a tensor, or of each of a dict; None of None."""
    if isinstance(tensors, dict):
        return {name: TensorSignature(tensor) for name, tensor in tensors.items()}
    return None if tensors is None else TensorSignature(tensors)


def create_placeholders_from_signatures(signatures: Any) -> Any:
    """A placeholder for each signature; None for None."""
    if isinstance(signatures, dict):
        return {name: signature.get_placeholder() for name, signature in signatures.items()}
    return None if signatures is None else signatures.get_placeholder()


def create_example_parser_from_signatures(
    signatures: Any, examples_batch: Any, single_feature_name: str = "feature"
) -> Any:
    """The tensors that serialized Examples [batch] hold, by name; of a lone signature ``single_feature_name``."""
    given = signatures if isinstance(signatures, dict) else {single_feature_name: signatures}
    spec = {name: signature.get_feature_spec() for name, signature in given.items()}
    parsed = parse_example(examples_batch, spec)
    found = {name: _as_signed(parsed[name], given[name]) for name in given}
    return found if isinstance(signatures, dict) else found[single_feature_name]


def _as_signed(tensor: Any, signature: TensorSignature) -> Any:
    """What an Example holds as int64 or float32, in the signature's dtype."""
    if tensor.dtype is signature.dtype:
        return tensor
    if isinstance(tensor, SparseTensor):
        return SparseTensor(
            tensor.indices, cast(tensor.values, signature.dtype), tensor.dense_shape
        )
    return cast(tensor, signature.dtype)
