"""Element types of tensors: TensorFlow's names and numbers over NumPy's dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.extras import where_to_get
from dataflow.namespaces import absent
from dataflow.providers import provided

_REF_OFFSET = 100


class DType:
    """The element type of a tensor, such as ``float32``; one object per type.

    A *reference* dtype (``float32_ref``) marks the output of a variable, whose buffer ops may
    change in place. The *handle* of a resource variable is a reference, too, though its dtype's name
    is ``resource`` whatever the variable holds. Compares equal to its name and to the NumPy dtype.
    """

    __slots__ = (
        "_enum",
        "_handle",
        "_ref",
        "base_dtype",
        "is_handle",
        "is_ref",
        "kind",
        "name",
        "numpy_dtype",
        "value_dtype",
    )

    def __init__(self, enum: int, name: str, numpy_type: Any, base: DType | None = None) -> None:
        self._enum = enum
        self.name = name
        self.numpy_dtype: Any = None if numpy_type is None else np.dtype(numpy_type)
        self.is_ref = base is not None
        self.is_handle = False
        self.base_dtype: DType = self if base is None else base
        #: The dtype of what it refers to, of a reference or handle; else the dtype itself.
        self.value_dtype: DType = self.base_dtype
        self._ref: DType | None = None
        self._handle: DType | None = None
        # "f" float, "i" signed, "u" unsigned, "b" bool, "c" complex, "S" string, "q" quantized, "x" other
        self.kind: str = base.kind if base else "x"

    @property
    def as_datatype_enum(self) -> int:
        """The number that TensorFlow's protocol buffers use."""
        return self._enum

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type; ``object`` for strings, whose elements are ``bytes``."""
        return self.numpy.type

    @property
    def numpy(self) -> np.dtype[Any]:
        """The `numpy.dtype` object of an element; that of bfloat16 is the package ml_dtypes's.

        Raises `ImportError` for bfloat16 where that is not installed.
        """
        if self.numpy_dtype is None:
            _load_bfloat16()
        return self.numpy_dtype  # type: ignore[no-any-return]

    @property
    def real_dtype(self) -> DType:
        """For complex types the type of a part, else the type itself."""
        if self.base_dtype is complex64:
            return float32
        if self.base_dtype is complex128:
            return float64
        return self

    @property
    def is_floating(self) -> bool:
        """True for real floating-point types."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers that are not quantized."""
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> bool:
        """True for unsigned integers."""
        return self.kind == "u"

    @property
    def is_complex(self) -> bool:
        """True for complex types."""
        return self.kind == "c"

    @property
    def is_bool(self) -> bool:
        """True for ``bool``."""
        return self.kind == "b"

    @property
    def is_quantized(self) -> bool:
        """True for the quantized integer types."""
        return self.kind == "q"

    @property
    def is_numpy_compatible(self) -> bool:
        """True where values of this type can be NumPy arrays."""
        return self.kind != "x"

    @property
    def _is_ref_dtype(self) -> bool:
        return self.is_ref and not self.is_handle

    @property
    def size(self) -> int:
        """Bytes of one element."""
        if self.name == "bfloat16":
            return 2
        return 1 if self.numpy_dtype is None else self.numpy_dtype.itemsize

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        return self._extremes()[0]

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return self._extremes()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of intensities of pictures: 0 to the largest value, of floats 0 to 1."""
        return (0, 1) if self.kind == "f" else (0, self._extremes()[1])

    def _extremes(self) -> tuple[Any, Any]:
        """Smallest and largest; raises `TypeError` for types without an order."""
        if self.base_dtype is bfloat16:
            largest = self.numpy.type(float.fromhex("0x1.fep127"))
            return -largest, largest
        if self.kind == "f":
            info = np.finfo(self.numpy)
            return info.min, info.max
        if self.kind in "iu":
            int_info = np.iinfo(self.numpy)
            return int_info.min, int_info.max
        if self.kind == "b":
            return False, True
        raise TypeError(f"{self.name} has no smallest and largest value")

    def is_compatible_with(self, other: Any) -> bool:
        """True when a value of ``other`` may stand where this type is wanted."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype or self.base_dtype is other.base_dtype

    @property
    def as_ref(self) -> DType:
        """The reference type of this type."""
        if self.is_ref:
            return self
        assert self._ref is not None
        return self._ref

    _as_ref = as_ref

    @property
    def handle(self) -> DType:
        """The dtype of the handle of a resource variable that holds values of this type."""
        if self._handle is None:
            self._handle = made = DType(resource._enum, resource.name, object, base=resource)
            made.is_handle, made.value_dtype = True, self.value_dtype
        return self._handle

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None:
            return False
        if isinstance(other, DType):
            return self._enum == other._enum  # all handles are resources
        try:
            return as_dtype(other)._enum == self._enum
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    # One object per type; graphs look dtypes up for every node, and tell handles apart.
    __hash__ = object.__hash__

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __int__(self) -> int:
        return self._enum

    def __reduce__(self) -> Any:
        if self.is_handle:
            return getattr, (self.value_dtype, "handle")
        return as_dtype, (self.name,)


_BY_ENUM: dict[int, DType] = {}
BY_NAME: dict[str, DType] = {}


def _define(enum: int, name: str, numpy_type: Any, kind: str) -> DType:
    dtype = DType(enum, name, numpy_type)
    dtype.kind = kind
    ref = DType(enum + _REF_OFFSET, name + "_ref", numpy_type, base=dtype)
    dtype._ref = ref
    for d in (dtype, ref):
        _BY_ENUM[d._enum] = d
        BY_NAME[d.name] = d
    return dtype


float32 = _define(1, "float32", np.float32, "f")
float64 = double = _define(2, "float64", np.float64, "f")
int32 = _define(3, "int32", np.int32, "i")
uint8 = _define(4, "uint8", np.uint8, "u")
int16 = _define(5, "int16", np.int16, "i")
int8 = _define(6, "int8", np.int8, "i")
string = _define(7, "string", object, "S")
complex64 = _define(8, "complex64", np.complex64, "c")
int64 = _define(9, "int64", np.int64, "i")
bool_ = _define(10, "bool", np.bool_, "b")
qint8 = _define(11, "qint8", np.int8, "q")
quint8 = _define(12, "quint8", np.uint8, "q")
qint32 = _define(13, "qint32", np.int32, "q")
bfloat16 = _define(14, "bfloat16", None, "f")
qint16 = _define(15, "qint16", np.int16, "q")
quint16 = _define(16, "quint16", np.uint16, "q")
uint16 = _define(17, "uint16", np.uint16, "u")
complex128 = _define(18, "complex128", np.complex128, "c")
float16 = half = _define(19, "float16", np.float16, "f")
resource = _define(20, "resource", object, "x")
variant = _define(21, "variant", object, "x")
uint32 = _define(22, "uint32", np.uint32, "u")
uint64 = _define(23, "uint64", np.uint64, "u")


def _load_bfloat16() -> None:
    """Make ml_dtypes's scalar the element type of bfloat16; NumPy has none of its own."""
    try:
        from ml_dtypes import bfloat16 as scalar
    except ImportError as error:
        raise ImportError(
            "tf.bfloat16 needs the package ml_dtypes, which holds its NumPy type and is not "
            f"installed: {where_to_get('ml_dtypes', 'bfloat16')}."
        ) from error
    assert bfloat16._ref is not None
    bfloat16.numpy_dtype = bfloat16._ref.numpy_dtype = np.dtype(scalar)
    BY_NUMPY[bfloat16.numpy_dtype] = bfloat16
    _CACHE[scalar] = _CACHE[bfloat16.numpy_dtype] = bfloat16


BY_NAME.update({"half": float16, "double": float64, "float": float32, "half_ref": float16.as_ref})

#: Groups for the type attributes of ops.
FLOATING = frozenset({float16, float32, float64, bfloat16})
COMPLEX = frozenset({complex64, complex128})
INTEGERS = frozenset({int8, int16, int32, int64, uint8, uint16, uint32, uint64})
REAL_NUMBERS = FLOATING | INTEGERS
NUMBERS = REAL_NUMBERS | COMPLEX
INDICES = frozenset({int32, int64})

BY_NUMPY: dict[Any, DType] = {
    np.dtype(d.numpy_dtype): d
    for d in (
        float32,
        float64,
        int32,
        uint8,
        int16,
        int8,
        complex64,
        int64,
        bool_,
        uint16,
        complex128,
        float16,
        uint32,
        uint64,
        string,
    )
}
_CACHE: dict[Any, DType] = {
    **BY_NAME,
    **_BY_ENUM,
    **BY_NUMPY,
    **{n.type: d for n, d in BY_NUMPY.items()},
    float: float32,
    int: int64,
    bool: bool_,
    str: string,
    bytes: string,
    object: string,
    complex: complex128,
}


def as_dtype(type_value: Any) -> DType:
    """The `DType` for a dtype, its name or number, a NumPy dtype, or a Python type.

    As in TensorFlow, Python's ``float`` means ``float32`` and ``int`` means ``int64``.
    Raises `TypeError` when nothing fits.
    """
    if isinstance(type_value, DType):
        return type_value
    try:
        return _CACHE[type_value]
    except (KeyError, TypeError):
        pass
    try:
        numpy_dtype = np.dtype(type_value)
    except (TypeError, ValueError):
        numpy_dtype = None
    if numpy_dtype is not None:
        if numpy_dtype in BY_NUMPY:
            return BY_NUMPY[numpy_dtype]
        if numpy_dtype.name == "bfloat16" and bfloat16.numpy_dtype is None:
            _load_bfloat16()
            return bfloat16
        if numpy_dtype.kind in "SU":
            return string
    raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")


_QUANTIZED = (qint8, quint8, qint32, qint16, quint16)
#: The dtypes of quantized numbers, and of references to them.
QUANTIZED_DTYPES = frozenset({*_QUANTIZED, *(dtype.as_ref for dtype in _QUANTIZED)})


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """What `tf.dtypes` has beside the dtypes themselves: ``bool``, and functions of tensors."""
        if name == "bool":  # in this file the word is Python's
            return bool_
        if name in ("as_string", "cast", "complex", "saturate_cast"):
            return getattr(provided("dtype_functions"), name)
        raise absent(__name__, name, globals())
