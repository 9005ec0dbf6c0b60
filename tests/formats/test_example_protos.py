"""`Example` as a message and as arrays, against bytes that TensorFlow wrote."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dataflow.formats import example_protos
from dataflow.formats.example_wire import read_example, read_sequence_example
from dataflow.formats.protobuf_wire import WireError
from dataflow.formats.record_files import tf_record_iterator

THEIRS = Path(__file__).with_name("tensorflow_files")


class _Everything:
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def decode_example(serialized: bytes) -> dict[str, Any]:
    found = read_example(serialized, _Everything())  # type: ignore[arg-type]
    return {bytes(key).decode(): values for key, (_, values) in found.items()}


def feature(values: Any) -> Any:
    if values is None:
        return example_protos.Feature()
    kind, items = values
    message = getattr(example_protos, f"{kind.title()}List")(value=items)
    return example_protos.Feature(**{f"{kind}_list": message})


EXPECTED: dict[str, Any] = {
    "label": ("int64", [-1, 0, 127, 128, 2**62, -(2**63)]),
    "pixels": ("float", [0.5, -1e30]),
    "name": ("bytes", [b"a\0", b""]),
    "nothing": None,
    "no numbers": ("int64", []),
}


def same(decoded: Any, expected: Any) -> bool:
    if expected is None:
        return decoded is None
    kind, items = expected
    if kind == "bytes":
        return bool(decoded == items)
    dtype = np.float32 if kind == "float" else np.int64
    return decoded.dtype == dtype and np.array_equal(decoded, np.array(items, dtype))


def test_bytes_are_tensorflows() -> None:
    example, sequence = tf_record_iterator(THEIRS / "examples.tfrecord")
    features = example_protos.Features(feature={k: feature(v) for k, v in EXPECTED.items()})
    ours = example_protos.Example(features=features)
    assert ours.SerializeToString(deterministic=True) == example
    steps = example_protos.FeatureList(feature=[feature(("int64", v)) for v in ([1, 2], [3])])
    ours = example_protos.SequenceExample(
        context=features, feature_lists=example_protos.FeatureLists(feature_list={"steps": steps})
    )
    assert ours.SerializeToString(deterministic=True) == sequence
    assert example_protos.Example.FromString(example).features.feature["pixels"].WhichOneof(
        "kind"
    ) == ("float_list")


def test_decoding_without_protobuf() -> None:
    example, sequence = tf_record_iterator(THEIRS / "examples.tfrecord")
    context, lists = read_sequence_example(sequence, _Everything())  # type: ignore[arg-type]
    of_sequence = {bytes(key).decode(): values for key, (_, values) in context.items()}
    for decoded in (decode_example(example), of_sequence):
        assert set(decoded) == set(EXPECTED)
        assert all(same(decoded[name], EXPECTED[name]) for name in EXPECTED)
    assert [step.tolist() for _, step in lists[b"steps"]] == [[1, 2], [3]]


VALUES = st.one_of(
    st.none(),
    st.tuples(st.just("bytes"), st.lists(st.binary(max_size=20), max_size=4)),
    st.tuples(st.just("float"), st.lists(st.floats(width=32, allow_nan=False), max_size=4)),
    st.tuples(st.just("int64"), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)),
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_decoding_agrees_with_protobuf(values: dict[str, Any]) -> None:
    features = example_protos.Features(feature={k: feature(v) for k, v in values.items()})
    serialized = example_protos.Example(features=features).SerializeToString()
    decoded = decode_example(serialized)
    assert set(decoded) == set(values)
    assert all(same(decoded[name], values[name]) for name in values)


def test_lists_that_are_not_packed() -> None:
    """Some writers put a tag before each number; protobuf must read both, and so must this."""
    ints = b"\x1a\x04\x08\x05\x08\x07"  # int64_list { 5, 7 }
    floats = b"\x12\x0a" + b"\x0d\x00\x00\x80\x3f" + b"\x0d\x00\x00\x00\x40"

    def entry(name: bytes, value: bytes) -> bytes:
        body = b"\x0a\x01" + name + b"\x12" + bytes([len(value)]) + value
        return b"\x0a" + bytes([len(body)]) + body

    features = entry(b"i", ints) + entry(b"f", floats)
    serialized = b"\x0a" + bytes([len(features)]) + features
    decoded = decode_example(serialized)
    assert decoded["i"].tolist() == [5, 7]
    assert decoded["f"].tolist() == [1.0, 2.0]
    message = example_protos.Example.FromString(serialized)
    assert list(message.features.feature["i"].int64_list.value) == [5, 7]


def test_damaged_example() -> None:
    example, _ = tf_record_iterator(THEIRS / "examples.tfrecord")
    with pytest.raises(WireError):
        decode_example(example[:-3])
    with pytest.raises(WireError):
        decode_example(b"no example")


def test_values_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(TypeError):
        example_protos.BytesList(value=["text"[0:0], 3])
    with pytest.raises(TypeError):
        example_protos.Int64List(value=[1.5])
    with pytest.raises(AttributeError, match="Exmaple"):
        _ = example_protos.Exmaple


def test_protobuf_loads_on_first_use() -> None:
    code = (
        "import sys\n"
        "from dataflow.formats import example_protos, example_wire, tensor_bundle\n"
        "from dataflow.formats import safetensors_store, checkpoint_state\n"
        "from dataflow.formats import event_files, summary_protos\n"
        "heavy = {'google.protobuf', 'safetensors', 'tensorboard', 'PIL'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "example_protos.Example()\n"
        "assert 'google.protobuf' in sys.modules\n"
    )
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
