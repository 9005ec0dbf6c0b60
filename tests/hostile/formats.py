"""The formats that come from elsewhere: intact inputs, damage to them, and who reads them."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

import dataflow as tf
from dataflow.formats.crc32c import masked_crc32c
from dataflow.formats.protobuf_wire import bytes_field, varint_field, write_varint
from dataflow.formats.safetensors_store import list_arrays, read_arrays, write_arrays
from tests.hostile.harness import Format
from tests.hostile.mutations import NUMBERS, damage_bytes, damage_json, damage_message

# ---- graphs ---------------------------------------------------------------------------------


def _control_flow() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    v = tf.Variable(np.ones((3, 2), np.float32), name="v")
    y = tf.nn.relu(tf.matmul(x, v))
    y = tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * 2.0, lambda: -y)
    total = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + y), [0, y])[1]
    tf.gradients(tf.reduce_sum(total), v)
    tf.string_split(["a b"])


def _network() -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="pictures")
    labels = tf.placeholder(tf.int64, [None])
    y = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
    y = tf.layers.max_pooling2d(tf.layers.batch_normalization(y), 2, 2)
    y = tf.layers.dense(tf.layers.flatten(y), 5)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, y)
    tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_or_create_global_step())
    parts = tf.split(tf.transpose(tf.reshape(y, [-1, 5, 1]), [1, 0, 2]), 5)
    tf.concat([tf.expand_dims(p, 0)[..., ::2] for p in parts], 0)
    tf.train.Saver()


def _data() -> None:
    data = tf.data.Dataset.from_tensor_slices(np.arange(6.0)).map(lambda v: v * 2.0).batch(2)
    tf.reduce_sum(data.make_one_shot_iterator().get_next())
    queue = tf.FIFOQueue(3, [tf.float32, tf.string], [[2], []])
    queue.enqueue([[1.0, 2.0], "a"])
    tf.add_to_collection("made", queue.dequeue()[0])
    tf.nn.embedding_lookup(tf.get_variable("e", [5, 2]), [1, 2])
    tf.parse_example(
        tf.placeholder(tf.string, [None]),
        {"a": tf.FixedLenFeature([2], tf.float32), "b": tf.VarLenFeature(tf.int64)},
    )


@functools.cache
def _meta_graphs() -> list[Any]:
    found = []
    for build in (_control_flow, _network, _data):
        with tf.Graph().as_default():
            build()
            meta = tf.train.export_meta_graph()
            for node in meta.graph_def.node:  # they are dropped when read
                del node.attr["_output_shapes"]
            found.append(meta)
    return found


def _graph_seeds() -> list[bytes]:
    return [meta.graph_def.SerializeToString(deterministic=True) for meta in _meta_graphs()]


def _damage_proto(message_class: Callable[[], Any]) -> Callable[[bytes, random.Random], bytes]:
    def damage(data: bytes, rng: random.Random) -> bytes:
        if rng.random() < 0.3:
            return damage_bytes(data, rng)
        message = message_class()
        message.ParseFromString(data)
        damage_message(message, rng)
        return bytes(message.SerializeToString(deterministic=True))

    return damage


def _read_graph(data: bytes, folder: Path) -> None:
    definition = tf.GraphDef()
    try:
        definition.ParseFromString(data)
    except DecodeError as error:  # protobuf's own, when the user parses
        raise ValueError(f"node: {error}") from error
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(definition, name="")
        except BaseException:
            assert graph.version == 0, "a graph that is refused leaves nothing behind"
            raise
        graph.as_graph_def()


def _meta_seeds() -> list[bytes]:
    return [meta.SerializeToString(deterministic=True) for meta in _meta_graphs()]


def _read_meta(data: bytes, folder: Path) -> None:
    path = folder / "hostile.meta"
    path.write_bytes(data)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(str(path))


def _meta_class() -> Any:
    return type(_meta_graphs()[0])()


# ---- checkpoints ----------------------------------------------------------------------------

ARRAYS = {
    "layer/W": np.arange(12, dtype=np.float32).reshape(4, 3),
    "layer/b": np.zeros(3),
    "names": np.array([b"one", b"", b"three" * 9], object),
    "pairs": np.array([1 + 2j, 3j]),
    "step": np.array(7, np.int64),
}


def _header_and_data(content: bytes) -> tuple[Any, bytes]:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


@functools.cache
def _safetensors_seed() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        write_arrays(path, ARRAYS, {"note": "text"})
        return path.read_bytes()


def _damage_safetensors(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return damage_bytes(content, rng)
    header, data = _header_and_data(content)
    if rng.random() < 0.4:
        note = json.loads(header["__metadata__"]["dataflow"])
        header["__metadata__"]["dataflow"] = json.dumps(damage_json(note, rng))
    else:
        header = damage_json(header, rng)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _read_safetensors(content: bytes, folder: Path) -> None:
    path = folder / "hostile.safetensors"
    path.write_bytes(content)
    infos = list_arrays(path)
    for name, array in read_arrays(path).items():
        assert array.shape == infos[name].shape
    reader = tf.train.NewCheckpointReader(str(path.with_suffix("")))
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


#: Entries of a checkpoint of TensorFlow's: dtype, shape, shard, offset, size, CRC and slices.
_Bundle = tuple[dict[bytes, dict[str, Any]], bytes]


@functools.cache
def _bundle_seed() -> tuple[Any, bytes]:
    """The entries of an index, and the content of the data file."""
    numbers = {"float32": 1, "float64": 2, "int64": 9, "complex128": 18}
    entries, data = {}, b""
    for name, array in sorted(ARRAYS.items()):
        if array.dtype == object:
            continue
        raw = array.tobytes()
        entries[name.encode()] = {
            "dtype": numbers[array.dtype.name],
            "shape": list(array.shape),
            "shard": 0,
            "offset": len(data),
            "size": len(raw),
            "crc": masked_crc32c(raw),
            "slices": [],
        }
        data += raw
    texts = [b"one", b"", b"three"]
    lengths = bytes(map(len, texts))
    from dataflow.formats.crc32c import crc32c, mask

    crc = crc32c(b"".join(struct.pack("<I", len(t)) for t in texts))
    stored = struct.pack("<I", mask(crc))
    raw = lengths + stored + b"".join(texts)
    entries[b"texts"] = {
        "dtype": 7,
        "shape": [3],
        "shard": 0,
        "offset": len(data),
        "size": len(raw),
        "crc": mask(crc32c(stored + b"".join(texts), crc)),
        "slices": [],
    }
    data += raw
    entries[b"parts"] = {
        "dtype": 1,
        "shape": [4],
        "shard": 0,
        "offset": 0,
        "size": 0,
        "crc": 0,
        "slices": [[[0, 2]], [[2, 2]]],
    }
    return entries, data


def _entry(entry: dict[str, Any]) -> bytes:
    shape = b"".join(bytes_field(2, varint_field(1, _unsigned(n))) for n in entry["shape"])
    out = varint_field(1, _unsigned(entry["dtype"])) + bytes_field(2, shape)
    out += varint_field(3, _unsigned(entry["shard"])) + varint_field(4, _unsigned(entry["offset"]))
    out += varint_field(5, _unsigned(entry["size"])) + write_varint(6 << 3 | 5)
    out += struct.pack("<I", entry["crc"] % (1 << 32))
    for extents in entry["slices"]:
        dims = b"".join(
            bytes_field(1, varint_field(1, _unsigned(s)) + varint_field(2, _unsigned(n)))
            for s, n in extents
        )
        out += bytes_field(7, dims)
    return out


def _unsigned(number: int) -> int:
    return number % (1 << 64)


def _block(pairs: list[tuple[bytes, bytes]]) -> bytes:
    body = b"".join(
        write_varint(0) + write_varint(len(k)) + write_varint(len(v)) + k + v for k, v in pairs
    )
    body += struct.pack("<II", 0, 1)
    return body + b"\0" + struct.pack("<I", masked_crc32c(body + b"\0"))


def _index(entries: dict[bytes, bytes]) -> bytes:
    """A sorted table with one block, its checksums right."""
    header = (b"", varint_field(1, 1) + bytes_field(3, varint_field(1, 1)))
    block = _block([header, *sorted(entries.items())])
    directory = _block([(b"~", write_varint(0) + write_varint(len(block) - 5))])
    footer = write_varint(0) * 2 + write_varint(len(block)) + write_varint(len(directory) - 5)
    return block + directory + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def _bundle_seeds() -> list[tuple[bytes, bytes]]:
    entries, data = _bundle_seed()
    whole = {k: v for k, v in entries.items() if not v["slices"]}
    return [(_index({k: _entry(v) for k, v in whole.items()}), data)]


def _damage_bundle(files: tuple[bytes, bytes], rng: random.Random) -> tuple[bytes, bytes]:
    index, data = files
    kind = rng.randrange(4)
    if kind == 0:
        return damage_bytes(index, rng), data
    if kind == 1:
        return index, damage_bytes(data, rng)
    entries, _ = _bundle_seed()
    changed = json.loads(json.dumps({k.decode(): v for k, v in entries.items()}))
    name = rng.choice(sorted(changed))
    if kind == 2:
        key = rng.choice(["dtype", "shard", "offset", "size", "crc"])
        changed[name][key] = rng.choice([*NUMBERS, *range(1, 24)])
    else:
        shape = changed[name]["shape"]
        changed[name]["shape"] = rng.choice(
            [[], [0], [-1], [*shape, 1], [2**31, 2**31], [2**62], [2**40], [1] * 70, shape[::-1]]
        )
    encoded = {k.encode(): _entry(v) for k, v in changed.items()}
    if rng.random() < 0.2:
        encoded[name.encode()] = damage_bytes(encoded[name.encode()], rng)
    return _index(encoded), data


def _read_bundle(files: tuple[bytes, bytes], folder: Path) -> None:
    index, data = files
    (folder / "hostile.index").write_bytes(index)
    (folder / "hostile.data-00000-of-00001").write_bytes(data)
    reader = tf.train.NewCheckpointReader(str(folder / "hostile"))
    intact = _bundle_seeds()[0]
    for name in reader.get_variable_to_shape_map():
        found = reader.get_tensor(name)
        if index == intact[0] and name in ARRAYS:
            assert np.array_equal(found, ARRAYS[name]), f"{name} is silently wrong"


# ---- SavedModel -----------------------------------------------------------------------------


@functools.cache
def _saved_model_seed() -> dict[str, bytes]:
    """Every file of a small model, by its path in the folder."""
    import tempfile

    with tempfile.TemporaryDirectory() as parent, tf.Graph().as_default(), tf.Session() as session:
        folder = Path(parent) / "model"
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 2], initializer=tf.zeros_initializer())
        y = tf.matmul(x, w, name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
        files = {
            str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()
        }
    model = _saved_model_class()()
    model.ParseFromString(files["saved_model.pb"])
    return {**files, "saved_model.pb": model.SerializeToString()}


def _damage_saved_model(files: dict[str, bytes], rng: random.Random) -> dict[str, bytes]:
    name = rng.choice(sorted(files) + ["saved_model.pb"] * 4)
    kind = rng.random()
    if kind < 0.02:
        return {k: v for k, v in files.items() if k != name}
    if name == "saved_model.pb" and kind < 0.75:
        return {**files, name: _damage_proto(_saved_model_class())(files[name], rng)}
    return {**files, name: damage_bytes(files[name], rng)}


@functools.cache
def _saved_model_class() -> Any:
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    class Model:
        """A SavedModel: its graphs are its field 2."""

        def ParseFromString(self, data: bytes) -> None:
            from dataflow.formats.protobuf_wire import fields

            self.parts = [(n, bytes(v) if n == 2 else v) for n, _, v in fields(data)]
            self.graph = MetaGraphDef.FromString(next(v for n, v in self.parts if n == 2))
            self.DESCRIPTOR = self.graph.DESCRIPTOR

        def __getattr__(self, name: str) -> Any:
            return getattr(self.graph, name)

        def SerializeToString(self, deterministic: bool = True) -> bytes:
            return varint_field(1, 1) + bytes_field(
                2, self.graph.SerializeToString(deterministic=deterministic)
            )

    return Model


def _read_saved_model(files: dict[str, bytes], folder: Path) -> None:
    place = folder / "hostile_model"
    shutil.rmtree(place, ignore_errors=True)
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], str(place))
        except RuntimeError as error:  # as TensorFlow: no graph of these tags
            if "MetaGraphDef associated with tags" not in str(error):
                raise
            raise ValueError(str(error)) from error


# ---- records --------------------------------------------------------------------------------


def _tf_record_seeds() -> list[tuple[str, bytes]]:
    plain = b"".join(
        struct.pack("<Q", len(r)) + _crc(struct.pack("<Q", len(r))) + r + _crc(r)
        for r in (b"", b"one record", b"another" * 60)
    )
    return [("", plain), ("GZIP", gzip.compress(plain, mtime=0)), ("ZLIB", zlib.compress(plain))]


def _crc(data: bytes) -> bytes:
    return struct.pack("<I", masked_crc32c(data))


def _damage_records(item: tuple[str, bytes], rng: random.Random) -> tuple[str, bytes]:
    kind, data = item
    pack = {"": bytes, "GZIP": lambda d: gzip.compress(d, mtime=0), "ZLIB": zlib.compress}[kind]
    if kind and rng.random() < 0.5:
        _, plain = _tf_record_seeds()[0]
        return kind, pack(damage_bytes(plain, rng))
    zeros = [0, 10, 1 << 16, 80 << 20 if rng.random() < 0.02 else 1 << 20]
    if rng.random() < 0.2:  # a length with a checksum that is right, and nothing behind it
        length = struct.pack("<Q", rng.choice(NUMBERS) % (1 << 64))
        return kind, pack(length + _crc(length) + b"\0" * rng.choice(zeros))
    return kind, damage_bytes(data, rng)


def _read_records(item: tuple[str, bytes], folder: Path) -> None:
    kind, data = item
    path = folder / "hostile.tfrecord"
    path.write_bytes(data)
    for _ in tf.python_io.tf_record_iterator(str(path), kind):
        pass


class _Pipeline:
    """A graph that is built once and fed with each input."""

    def __init__(self, build: Callable[[Any], Any], shape: Any = ()) -> None:
        with tf.Graph().as_default() as graph:
            self.input = tf.placeholder(tf.string, shape, name="hostile")
            self.result = build(self.input)
        self.session = tf.Session(graph=graph)

    def run(self, value: Any) -> Any:
        return self.session.run(self.result, {self.input: value})


@functools.cache
def _csv() -> _Pipeline:
    double, long = np.array([], np.float64), np.array([5], np.int64)
    return _Pipeline(lambda x: tf.decode_csv(x, [[0.0], [0], ["none"], double, long]), [2])


def _csv_seeds() -> list[bytes]:
    return [
        b'1.5,2,"a ""quoted"" text",3e-5,7',
        b",,,1,\r\n",
        "-1,0,é ☃,1e300,-9223372036854775808".encode(),
    ]


def _read_csv(data: bytes, folder: Path) -> None:
    _csv().run([data, b"1,2,a,4,5"])


@functools.cache
def _examples() -> list[_Pipeline]:
    features = {
        "ints": tf.FixedLenFeature([2], tf.int64),
        "floats": tf.VarLenFeature(tf.float32),
        "texts": tf.FixedLenFeature([], tf.string, ""),
        "many": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    }
    steps = {"steps": tf.FixedLenSequenceFeature([], tf.int64)}
    return [
        _Pipeline(lambda x: tf.parse_single_example(x, features)),
        _Pipeline(lambda x: tf.parse_example(tf.stack([x, x]), features)),
        _Pipeline(lambda x: tf.parse_single_sequence_example(x, None, steps)[1]),
    ]


def _example_seeds() -> list[bytes]:
    train = tf.train
    example = train.Example(
        features=train.Features(
            feature={
                "ints": train.Feature(int64_list=train.Int64List(value=[1, -2])),
                "floats": train.Feature(float_list=train.FloatList(value=[0.5, 1.5, 2.5])),
                "texts": train.Feature(bytes_list=train.BytesList(value=[b"text"])),
                "many": train.Feature(float_list=train.FloatList(value=[1.0] * 20)),
                "steps": train.Feature(int64_list=train.Int64List(value=[1])),
            }
        )
    )
    return [example.SerializeToString()]


def _read_example(data: bytes, folder: Path) -> None:
    refused = None
    single, batch, sequence = _examples()
    for pipeline in (single, batch):
        try:
            pipeline.run(data)
        except tf.errors.OpError as error:
            refused = error
    try:
        sequence.run(data)
    except tf.errors.InvalidArgumentError:
        pass  # an Example is no SequenceExample
    if refused is not None:
        raise refused


@functools.cache
def _tensors() -> _Pipeline:
    def build(x: Any) -> list[Any]:
        return [tf.parse_tensor(x, tf.float32)]

    return _Pipeline(build)


def _tensor_class() -> Any:
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    return TensorProto()


def _tensor_seeds() -> list[bytes]:
    whole = tf.make_tensor_proto(np.arange(6, dtype=np.float32).reshape(2, 3))
    one_by_one = _tensor_class()
    one_by_one.CopyFrom(whole)
    one_by_one.tensor_content = b""
    one_by_one.float_val.extend([1.0, 2.0])
    return [p.SerializeToString(deterministic=True) for p in (whole, one_by_one)]


def _read_tensor(data: bytes, folder: Path) -> None:
    _tensors().run(data)


# ---- pictures -------------------------------------------------------------------------------


def _picture(mode: str, format: str, **options: Any) -> bytes:
    from PIL import Image

    rng = np.random.default_rng(0)
    shape = (24, 20, 3)
    image = Image.fromarray(rng.integers(0, 255, shape, np.uint8)).convert(mode)
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


@functools.cache
def _png_seeds() -> list[bytes]:
    return [_picture(mode, "PNG") for mode in ("RGB", "RGBA", "L", "P", "1", "LA", "I;16")] + [
        _picture("P", "PNG", transparency=3)
    ]


def _damage_png(data: bytes, rng: random.Random) -> bytes:
    """Bytes, or a chunk whose checksum is made right again."""
    if rng.random() < 0.3:
        return damage_bytes(data, rng)
    chunks, at = [], 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    n = rng.randrange(len(chunks))
    name, body = chunks[n]
    kind = rng.randrange(5)
    if kind == 0:
        del chunks[n]
    elif kind == 1:
        chunks.insert(rng.randrange(len(chunks)), chunks[n])
    elif name == b"IHDR" and kind == 2:
        sizes = [rng.choice([0, 1, 20, 24, 5000, 60_000, 2**31 - 1]) for _ in range(2)]
        chunks[n] = name, struct.pack(">II", *sizes) + body[8:]
    elif name == b"IDAT" and kind == 2:
        chunks[n] = name, zlib.compress(damage_bytes(zlib.decompress(body), rng))
    elif kind == 3:
        text = zlib.compress(b"\0" * rng.choice([10, 10_000_000]))
        chunks.insert(1, (rng.choice([b"zTXt", b"iTXt", b"iCCP", b"acTL"]), b"a\0\0" + text))
    else:
        chunks[n] = name, damage_bytes(body, rng)
    return data[:8] + b"".join(
        struct.pack(">I", len(b)) + t + b + struct.pack(">I", zlib.crc32(t + b)) for t, b in chunks
    )


@functools.cache
def _jpeg_seeds() -> list[bytes]:
    return [
        _picture("RGB", "JPEG"),
        _picture("L", "JPEG"),
        _picture("RGB", "JPEG", progressive=True, quality=30),
        _picture("CMYK", "JPEG", subsampling=2),
    ]


@functools.cache
def _gif_and_bmp_seeds() -> list[bytes]:
    from PIL import Image

    frames = [Image.new("RGB", (9, 7), (80 * n, 0, 0)) for n in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return [out.getvalue(), _picture("RGB", "BMP"), _picture("P", "BMP")]


@functools.cache
def _pictures(decoder: str) -> _Pipeline:
    if decoder == "png":
        return _Pipeline(lambda x: [tf.image.decode_png(x), tf.image.decode_png(x, 3, tf.uint16)])
    if decoder == "jpeg":
        return _Pipeline(lambda x: [tf.image.decode_jpeg(x), tf.image.decode_jpeg(x, 1, ratio=2)])
    return _Pipeline(lambda x: tf.image.decode_image(x))


def _read_picture(decoder: str) -> Callable[[bytes, Path], None]:
    return lambda data, folder: _pictures(decoder).run(data)


# ---- compressed strings ---------------------------------------------------------------------


@functools.cache
def _compressed() -> dict[str, _Pipeline]:
    return {
        kind: _Pipeline(lambda x, kind=kind: tf.io.decode_compressed(x, kind), [1])
        for kind in ("GZIP", "ZLIB")
    }


def _compressed_seeds() -> list[tuple[str, bytes]]:
    text = b"some text, some more text" * 9
    return [
        ("GZIP", gzip.compress(text, mtime=0)),
        ("GZIP", gzip.compress(text, mtime=0) + gzip.compress(b"b", mtime=0) + b"\0" * 9),
        ("ZLIB", zlib.compress(text)),
    ]


def _damage_compressed(item: tuple[str, bytes], rng: random.Random) -> tuple[str, bytes]:
    kind, data = item
    if rng.random() < 0.01:  # much from little
        zeros = b"\0" * rng.choice([1 << 20, 65 << 20])
        return kind, gzip.compress(zeros, 1, mtime=0) if kind == "GZIP" else zlib.compress(zeros, 1)
    return kind, damage_bytes(data, rng)


def _read_compressed(item: tuple[str, bytes], folder: Path) -> None:
    kind, data = item
    _compressed()[kind].run([data])


_NODE = r"'[^']+'|node"

FORMATS = {
    of.name: of
    for of in (
        Format("graph_def", _graph_seeds, _damage_proto(tf.GraphDef), _read_graph, _NODE),
        Format(
            "meta_graph",
            _meta_seeds,
            _damage_proto(_meta_class),
            _read_meta,
            f"hostile.meta|{_NODE}",
        ),
        Format("bundle", _bundle_seeds, _damage_bundle, _read_bundle, "hostile"),
        Format(
            "safetensors",
            lambda: [_safetensors_seed()],
            _damage_safetensors,
            _read_safetensors,
            "hostile.safetensors",
        ),
        Format(
            "saved_model",
            lambda: [_saved_model_seed()],
            _damage_saved_model,
            _read_saved_model,
            f"hostile_model|{_NODE}",
        ),
        Format("tf_record", _tf_record_seeds, _damage_records, _read_records, "hostile.tfrecord"),
        Format("csv", _csv_seeds, damage_bytes, _read_csv, "DecodeCSV"),
        Format("example", _example_seeds, damage_bytes, _read_example, "Parse"),
        Format("tensor", _tensor_seeds, _damage_proto(_tensor_class), _read_tensor, "ParseTensor"),
        Format("png", _png_seeds, _damage_png, _read_picture("png"), "DecodePng"),
        Format("jpeg", _jpeg_seeds, damage_bytes, _read_picture("jpeg"), "DecodeJpeg"),
        Format(
            "gif_and_bmp", _gif_and_bmp_seeds, damage_bytes, _read_picture("any"), "DecodeImage"
        ),
        Format(
            "compressed",
            _compressed_seeds,
            _damage_compressed,
            _read_compressed,
            "DecodeCompressed",
        ),
    )
}
