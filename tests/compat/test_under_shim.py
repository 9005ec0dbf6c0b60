"""``import tensorflow.compat.v2``, and modules that an old protoc wrote, in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shim.test_as_tensorflow import result_of


def test_it_is_imported_as_tensorflows() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import tensorflow as tf
first = tf.compat.v2
import tensorflow.compat.v2 as tf2
from tensorflow.compat.v2 import nn
from tensorflow.compat.v2.nn import dropout
result = [tf2.__version__, first is tf2, nn is tf2.nn, dropout is tf2.nn.dropout,
          tf2.compat.v1.__version__, tf2.compat is tf.compat, error_of("import dataflow; dataflow.compat.v3")]
"""
    )
    assert found[:6] == ["1.15.0", True, True, True, "1.15.0", True]
    assert "tf.compat.v3 is not part of dataflow" in found[6]


def test_a_module_that_is_not_there_can_be_caught_as_one() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
result = [error_of(f"from tensorflow.{place}") for place in
          ("python.types import core", "python.types.core import x", "contrib import tpux", "python import types",
           "core.protobuf import some_pb2")]
result.append(error_of("import tensorflow.python.types.core"))
"""
    )
    kinds = [text.partition(":")[0] for text in found]
    missing = "ModuleNotFoundError"
    assert kinds == [missing, missing, "ImportError", "ImportError", "ImportError", missing]
    assert all("is not part of dataflow" in text for text in found)


#: What protoc 3.6 wrote, in short: the calls for each descriptor, and the bytes of the whole file.
OLD = """
import sys
_b=sys.version_info[0]<3 and (lambda x:x) or (lambda x:x.encode('latin1'))
from google.protobuf import descriptor as _descriptor
{imports}
DESCRIPTOR = _descriptor.FileDescriptor(name={name!r}, package='', syntax='proto3', serialized_pb=_b({data!r}))
_ONE = _descriptor.Descriptor(name='One', fields=[_descriptor.FieldDescriptor(name='n', number=1)])
"""


def test_modules_of_an_old_protoc(tmp_path: Path) -> None:
    from google.protobuf import descriptor_pb2

    first = descriptor_pb2.FileDescriptorProto(name="dataflow_old_first.proto", syntax="proto3")
    first.message_type.add(name="One").field.add(name="n", number=1, type=5, label=1)
    second = descriptor_pb2.FileDescriptorProto(
        name="dataflow_old_second.proto", syntax="proto3", dependency=[first.name]
    )
    field = second.message_type.add(name="Two").field.add(name="one", number=1, type=11, label=1)
    field.type_name = ".One"
    for proto, imports in ((first, ""), (second, "import dataflow_old_first_pb2 as first")):
        text = OLD.format(
            name=proto.name, data=proto.SerializeToString().decode("latin-1"), imports=imports
        )
        (tmp_path / proto.name.replace(".proto", "_pb2.py")).write_text(text)
    third = descriptor_pb2.FileDescriptorProto(name="dataflow_old_third.proto", syntax="proto3")
    third.enum_type.add(name="Kind").value.add(name="NONE", number=0)
    text = OLD.format(name=third.name, data=third.SerializeToString().decode("latin-1"), imports="")
    calls = (
        "_ONE = _descriptor.EnumDescriptor(name='Kind', values=[])"  # a file of enumerations alone
    )
    (tmp_path / "dataflow_old_third_pb2.py").write_text(text.rpartition("_ONE")[0] + calls)
    (tmp_path / "plain_pb2.py").write_text("DESCRIPTOR = 3")
    found = result_of(
        f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import dataflow
dataflow.as_tensorflow()
import dataflow_old_second_pb2 as second, dataflow_old_third_pb2 as third, plain_pb2
two = second.Two(one=second.first.One(n=7))
result = [second.Two.FromString(two.SerializeToString()).one.n, second.DESCRIPTOR.name, plain_pb2.DESCRIPTOR, third.Kind.Name(0)]
"""
    )
    assert found == [7, "dataflow_old_second.proto", 3, "NONE"]


def test_protocol_buffers_without_machine_code() -> None:
    """As in a web page: the package's own ``descriptor_pb2`` then makes its descriptors by calls, as old modules do."""
    found = result_of(
        """
import os
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
import dataflow
dataflow.as_tensorflow()
from google.protobuf.internal import api_implementation
from tensorboard.compat.proto.event_pb2 import Event
event = Event.FromString(Event(step=7).SerializeToString())
result = [api_implementation.Type(), event.step]
"""
    )
    assert found == ["python", 7]


def test_a_picture_of_whole_numbers_is_saved_with_16_bits(tmp_path: Path) -> None:
    """As Pillow did before 13: keras_preprocessing's and medical images of mode "I"."""
    pytest.importorskip("PIL")
    found = result_of(
        f"""
import io
import numpy as np
import dataflow
dataflow.as_tensorflow()
from PIL import Image
picture = Image.fromarray(np.array([[-5, 0], [300, 70000]], np.int32))
picture.save({str(tmp_path / "a.png")!r})
held = io.BytesIO()
picture.save(held, format="png")
read = [Image.open({str(tmp_path / "a.png")!r}), Image.open(io.BytesIO(held.getvalue()))]
result = [picture.mode, *(np.asarray(p).tolist() for p in read)]
"""
    )
    assert found == ["I", [[0, 0], [300, 65535]], [[0, 0], [300, 65535]]]
