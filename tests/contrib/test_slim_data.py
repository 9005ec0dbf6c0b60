"""``tf.contrib.slim``'s data sets: files of examples, through readers and decoders, to tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dataflow as tf

slim = tf.contrib.slim
tfexample = slim.tfexample_decoder


pytestmark = pytest.mark.usefixtures("graph")


def feature(values: list) -> tf.train.Feature:
    if isinstance(values[0], (bytes, str)):
        data = [v.encode() if isinstance(v, str) else v for v in values]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=data))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**features: list) -> bytes:
    made = {name.replace("__", "/"): feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def decoded(serialized: bytes, features: dict, handlers: dict, items: list | None = None) -> list:
    decoder = tfexample.TFExampleDecoder(features, handlers)
    assert decoder.list_items() == list(handlers)
    with tf.Session() as s:
        tensors = decoder.decode(tf.constant(serialized), items)
        s.run(tf.tables_initializer())
        return s.run(tensors)


PICTURE = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
IMAGE_FEATURES = {
    "image/encoded": tf.FixedLenFeature((), tf.string),
    "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
}


def test_an_image_is_decoded_by_its_bytes() -> None:
    with tf.Session() as s:
        png = s.run(tf.image.encode_png(PICTURE))
    handlers = {"image": tfexample.Image()}
    [found] = decoded(example(image__encoded=[png]), IMAGE_FEATURES, handlers)
    np.testing.assert_array_equal(found, PICTURE)
    handlers = {"image": tfexample.Image(shape=[4, 2, 3], dtype=tf.float32)}
    [found] = decoded(example(image__encoded=[png]), IMAGE_FEATURES, handlers)
    np.testing.assert_array_equal(found, PICTURE.reshape(4, 2, 3).astype(np.float32))


def test_a_jpeg_and_raw_bytes() -> None:
    flat = np.full((8, 8, 3), 77, np.uint8)
    with tf.Session() as s:
        jpeg = s.run(tf.image.encode_jpeg(flat, quality=100))
    [found] = decoded(
        example(image__encoded=[jpeg], image__format=["jpeg"]),
        IMAGE_FEATURES,
        {"image": tfexample.Image()},
    )
    np.testing.assert_array_equal(found, flat)
    [found] = decoded(
        example(image__encoded=[PICTURE.tobytes()], image__format=["raw"]),
        IMAGE_FEATURES,
        {"image": tfexample.Image(shape=[2, 4, 3])},
    )
    np.testing.assert_array_equal(found, PICTURE)


def test_an_image_knows_its_rank_and_channels() -> None:
    decoder = tfexample.TFExampleDecoder(IMAGE_FEATURES, {"image": tfexample.Image()})
    [image] = decoder.decode(tf.placeholder(tf.string, []))
    assert image.shape.as_list() == [None, None, 3]
    assert image.dtype == tf.uint8


def test_repeated_images_are_stacked() -> None:
    features = {
        "frames": tf.FixedLenFeature([2], tf.string),
        "image/format": IMAGE_FEATURES["image/format"],
    }
    with tf.Session() as s:
        pngs = s.run([tf.image.encode_png(PICTURE), tf.image.encode_png(PICTURE[::-1].copy())])
    handlers = {"images": tfexample.Image("frames", repeated=True)}
    [found] = decoded(example(frames=pngs), features, handlers)
    np.testing.assert_array_equal(found, [PICTURE, PICTURE[::-1]])


def test_boxes_are_rows_of_four_sides() -> None:
    sides = {f"box/{k}": tf.VarLenFeature(tf.float32) for k in ("ymin", "xmin", "ymax", "xmax")}
    data = example(
        box__ymin=[0.0, 1.0], box__xmin=[0.5, 0.0], box__ymax=[2.0, 3.0], box__xmax=[4.0, 5.0]
    )
    [boxes] = decoded(data, sides, {"boxes": tfexample.BoundingBox(prefix="box/")})
    np.testing.assert_array_equal(boxes, [[0, 0.5, 2, 4], [1, 0, 3, 5]])
    with pytest.raises(ValueError, match="4 keys but got 3"):
        tfexample.BoundingBox(["a", "b", "c"])


def test_tensors_take_shapes_of_features_or_fixed_ones() -> None:
    features = {
        "values": tf.VarLenFeature(tf.int64),
        "h": tf.FixedLenFeature((), tf.int64),
        "w": tf.FixedLenFeature((), tf.int64),
    }
    data = example(values=[1, 2, 3, 4, 5, 6], h=[2], w=[3])
    handlers = {
        "flat": tfexample.Tensor("values"),
        "of_keys": tfexample.Tensor("values", shape_keys=["h", "w"]),
        "fixed": tfexample.Tensor("values", shape=[3, 2]),
        "one": tfexample.Tensor("h", shape=[1, 1]),
    }
    flat, of_keys, fixed, one = decoded(data, features, handlers)
    assert flat.tolist() == [1, 2, 3, 4, 5, 6]
    assert of_keys.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert fixed.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert one.tolist() == [[2]]
    assert [v.tolist() for v in decoded(data, features, handlers, ["one", "flat"])] == [
        [[2]],
        [1, 2, 3, 4, 5, 6],
    ]
    with pytest.raises(ValueError, match="both shape_keys and shape"):
        tfexample.Tensor("values", shape_keys="h", shape=[1])
    with pytest.raises(ValueError, match="'other' has no handler"):
        decoded(data, features, handlers, ["other"])


def test_lookups_backups_callbacks_and_sparse_tensors() -> None:
    features = {
        "name": tf.VarLenFeature(tf.string),
        "label": tf.VarLenFeature(tf.int64),
        "columns": tf.VarLenFeature(tf.int64),
        "weights": tf.VarLenFeature(tf.float32),
    }
    table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"])
    backup = tfexample.BackupHandler(
        tfexample.Tensor("label"), tfexample.LookupTensor("name", table)
    )
    handlers = {
        "label": backup,
        "twice": tfexample.ItemHandlerCallback("weights", lambda f: f["weights"].values * 2),
        "dense": tfexample.SparseTensor("columns", "weights", shape=[5], densify=True),
        "sparse": tfexample.SparseTensor("columns", "weights", shape=[5]),
    }
    data = example(name=["dog", "cat"], columns=[1, 3], weights=[0.5, 2.5])
    label, twice, dense, sparse = decoded(data, features, handlers)
    assert label.tolist() == [1, 0]
    assert twice.tolist() == [1.0, 5.0]
    assert dense.tolist() == [0.0, 0.5, 0.0, 2.5, 0.0]
    assert sparse.indices.tolist() == [[1], [3]]
    assert sparse.dense_shape.tolist() == [5]
    with tf.Graph().as_default():
        pass
    data = example(name=["dog"], label=[7], columns=[0], weights=[1.0])
    assert decoded(data, features, {"label": backup})[0].tolist() == [7]
    with pytest.raises(ValueError, match="instances of ItemHandler, not int"):
        tfexample.BackupHandler(backup, 3)


def test_a_sequence_example() -> None:
    sequence = tf.train.SequenceExample()
    sequence.context.feature["length"].int64_list.value.append(2)
    for value in (1.5, 2.5):
        sequence.feature_lists.feature_list["x"].feature.add().float_list.value.append(value)
    decoder = tfexample.TFSequenceExampleDecoder(
        {"length": tf.FixedLenFeature((), tf.int64)},
        {"x": tf.FixedLenSequenceFeature((), tf.float32)},
        {"n": tfexample.Tensor("length"), "x": tfexample.Tensor("x")},
    )
    with tf.Session() as s:
        n, x = s.run(decoder.decode(tf.constant(sequence.SerializeToString())))
    assert n == 2
    assert x.tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match=r"same keys: \['x'\]"):
        tfexample.TFSequenceExampleDecoder({"x": None}, {"x": None}, {})


def dataset(folder: Path, files: int = 2, per_file: int = 6) -> slim.dataset.Dataset:
    for file in range(files):
        with tf.python_io.TFRecordWriter(str(folder / f"train-{file}.tfrecord")) as writer:
            for i in range(per_file):
                writer.write(example(label=[file * per_file + i]))
    decoder = tfexample.TFExampleDecoder(
        {"label": tf.FixedLenFeature((), tf.int64)}, {"label": tfexample.Tensor("label")}
    )
    return slim.dataset.Dataset(
        data_sources=str(folder / "train-*"),
        reader=tf.TFRecordReader,
        decoder=decoder,
        num_samples=files * per_file,
        items_to_descriptions={"label": "a number"},
        num_classes=12,
    )


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_provider_gives_each_example_once_an_epoch(tmp_path: Path, shuffle: bool) -> None:
    data = dataset(tmp_path)
    provider = slim.dataset_data_provider.DatasetDataProvider(
        data, shuffle=shuffle, num_epochs=1, common_queue_capacity=8, common_queue_min=2, seed=3
    )
    assert sorted(provider.list_items()) == ["label", "record_key"]
    assert (provider.num_samples(), data.num_classes) == (12, 12)
    label, key = provider.get(["label", "record_key"])
    found, keys = [], set()
    with tf.Session() as s:
        s.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                one, name = s.run([label, key])
                found.append(int(one))
                keys.add(name)
        coord.request_stop()
        coord.join(threads)
    assert sorted(found) == list(range(12))
    assert (found == list(range(12))) is not shuffle
    assert len(keys) == 12
    with pytest.raises(ValueError, match=r"Item \[image\] is not available"):
        provider.get(["image"])


def test_a_record_key_that_is_an_item_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot also be used"):
        slim.dataset_data_provider.DatasetDataProvider(dataset(tmp_path), record_key="label")


def test_files_of_patterns(tmp_path: Path) -> None:
    for name in ("a1", "a2", "b"):
        (tmp_path / name).write_text("x\n")
    get = slim.parallel_reader.get_data_files
    assert sorted(get([str(tmp_path / "a?"), str(tmp_path / "b")])) == [
        str(tmp_path / name) for name in ("a1", "a2", "b")
    ]
    with pytest.raises(ValueError, match="No data files found"):
        get(str(tmp_path / "c*"))


def test_a_single_pass_reads_in_order(tmp_path: Path) -> None:
    for name, text in (("1", "a\nb\n"), ("2", "c\n")):
        (tmp_path / name).write_text(text)
    sources = [str(tmp_path / "1"), str(tmp_path / "2")]
    _, line = slim.parallel_reader.single_pass_read(sources, tf.TextLineReader)
    with tf.Session() as s:
        s.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        assert [s.run(line) for _ in range(3)] == [b"a", b"b", b"c"]
        with pytest.raises(tf.errors.OutOfRangeError):
            s.run(line)
        coord.request_stop()
        coord.join(threads)


def test_readers_count_and_take_several_records(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("a\nb\nc\n")
    names = tf.train.string_input_producer([str(tmp_path / "1")], num_epochs=1, shuffle=False)
    common = tf.FIFOQueue(10, [tf.string, tf.string], [[], []])
    reader = slim.parallel_reader.ParallelReader(tf.TextLineReader, common, num_readers=1)
    assert reader.common_queue is common
    _, lines = reader.read_up_to(names, 5)
    produced = reader.num_records_produced()
    with tf.Session() as s:
        s.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        found: list[bytes] = []
        while len(found) < 3:
            found.extend(s.run(lines))
        assert found == [b"a", b"b", b"c"]
        assert s.run(produced) == 3
        coord.request_stop()
        coord.join(threads)
    with pytest.raises(TypeError, match="two components"):
        slim.parallel_reader.ParallelReader(tf.TextLineReader, tf.FIFOQueue(1, [tf.string]))


@pytest.mark.parametrize("as_dict", [False, True])
def test_a_prefetch_queue_holds_the_next_values(as_dict: bool) -> None:
    counter = tf.Variable(0)
    step = counter.assign_add(1)
    values = {"step": step, "row": tf.fill([2], step)} if as_dict else [step, tf.fill([2], step)]
    queue = slim.prefetch_queue.prefetch_queue(values, capacity=3)
    taken = queue.dequeue()
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        for expected in (1, 2, 3, 4):
            found = s.run(taken)
            number, row = (found["step"], found["row"]) if as_dict else found
            assert number == expected
            assert row.shape == (2,)
        coord.request_stop()
        s.run(queue.close(cancel_pending_enqueues=True))
        coord.join(threads)


def test_a_prefetch_queue_pads_shapes_that_are_unknown() -> None:
    x = tf.placeholder_with_default(np.ones(3, np.float32), [None])
    queue = slim.prefetch_queue.prefetch_queue([x], dynamic_pad=True)
    assert queue.dequeue().shape.as_list() == [None]


def test_private_paths_lead_here() -> None:
    from dataflow.contrib.slim.python.slim.data import (
        dataset as data,
        dataset_data_provider,
        tfexample_decoder,
    )

    assert tfexample_decoder is tfexample or tfexample_decoder.Image is tfexample.Image
    assert data.Dataset is slim.dataset.Dataset
    assert (
        dataset_data_provider.DatasetDataProvider is slim.dataset_data_provider.DatasetDataProvider
    )
