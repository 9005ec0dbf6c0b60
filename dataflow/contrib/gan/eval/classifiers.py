"""Images through a classifier out of a frozen graph."""

from __future__ import annotations

import functools
import os
import tarfile
import urllib.request
from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.contrib.gan.eval.classifier_metrics import (
    classifier_score,
    frechet_classifier_distance,
    kernel_classifier_distance,
    kernel_classifier_distance_and_std,
)
from dataflow.contrib.layers import flatten
from dataflow.gfile import GFile
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.import_graph import import_graph_def
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.functional import map_fn
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.image_resize import resize_bilinear

INCEPTION_OUTPUT = "logits:0"
INCEPTION_FINAL_POOL = "pool_3:0"
INCEPTION_DEFAULT_IMAGE_SIZE = 299
_INCEPTION_INPUT = "Mul:0"


def get_graph_def_from_disk(filename: str) -> Any:
    """The frozen graph of a file, as a `tf.GraphDef`."""
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    with GFile(filename, "rb") as file:
        return GraphDef.FromString(file.read())


def get_graph_def_from_resource(filename: str) -> Any:
    """The frozen graph of a file that stands beside the program, as a `tf.GraphDef`."""
    return get_graph_def_from_disk(filename)


def get_graph_def_from_url_tarball(url: str, filename: str, tar_filename: str | None = None) -> Any:
    """The frozen graph ``filename`` in the archive at ``url``, as a `tf.GraphDef`.

    The archive is kept as ``tar_filename``, and is not loaded again when it is there.
    """
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    if not (tar_filename and os.path.exists(tar_filename)):
        tar_filename, _ = urllib.request.urlretrieve(url, tar_filename)
    with tarfile.open(tar_filename, "r:gz") as archive:
        file = archive.extractfile(filename)
        if file is None:
            raise ValueError(f"{filename} is no file of {tar_filename}.")
        return GraphDef.FromString(file.read())


def preprocess_image(
    images: Any,
    height: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    width: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    scope: str | None = None,
) -> Any:
    """Images of values 0 to 255 as Inception wants them: resized, and of values -1 to 1.

    ``images``: shape [batch, height, width, channels] or [height, width, channels], of any dtype.
    """
    single = images.shape.ndims == 3
    with name_scope(scope, "preprocess", [images]):
        if not images.dtype.is_floating:
            images = cast(images, dtypes.float32)
        if single:
            images = array.expand_dims(images, 0)
        resized = (resize_bilinear(images, [height, width]) - 128.0) / 128.0
        return array.squeeze(resized, axis=[0]) if single else resized


def run_image_classifier(
    tensor: Any,
    graph_def: Any,
    input_tensor: str,
    output_tensor: Any,
    num_batches: int = 1,
    dtypes: Any = None,
    scope: str = "RunClassifier",
) -> Any:
    """What a frozen graph makes of ``tensor``, of shape [batch, ...].

    ``input_tensor`` and ``output_tensor`` are names in the graph ("logits:0"); a list of outputs gives
    a list. In ``num_batches`` batches one after the other.
    """
    single = isinstance(output_tensor, str)
    wanted = [output_tensor] if single else list(output_tensor)
    if not single and len(wanted) > 1 and dtypes is None:
        dtypes = ["float32"] * len(wanted)

    def of_batch(batch: Any) -> Any:
        outputs: Any = import_graph_def(graph_def, {input_tensor: batch}, wanted, name=scope)
        return outputs[0] if len(outputs) == 1 else outputs

    if num_batches > 1:
        outputs = map_fn(
            of_batch,
            array.stack(array.split(tensor, num_batches)),
            dtype=dtypes,
            parallel_iterations=1,
            back_prop=False,
            swap_memory=True,
            name="RunClassifier",
        )
        outputs = (
            _joined(outputs)
            if isinstance(outputs, Tensor)
            else [_joined(output) for output in outputs]
        )
    else:
        outputs = of_batch(tensor)
    return outputs if single or isinstance(outputs, list) else [outputs]


def _joined(batches: Any) -> Any:
    return array.concat(array.unstack(batches), 0)


def run_inception(
    images: Any,
    graph_def: Any = None,
    default_graph_def_fn: Callable[[], Any] | None = None,
    image_size: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    input_tensor: str = _INCEPTION_INPUT,
    output_tensor: Any = INCEPTION_OUTPUT,
    num_batches: int = 1,
) -> Any:
    """What a frozen Inception makes of images, of shape [batch, features].

    ``images``: shape [batch, image_size, image_size, channels] as of `preprocess_image`. The graph is
    ``graph_def``, or what ``default_graph_def_fn`` loads; a `ValueError` without both, as no network
    comes with dataflow.
    """
    images = convert_to_tensor(images)
    images.shape.assert_is_compatible_with([None, image_size, image_size, None])
    if graph_def is None:
        if default_graph_def_fn is None:
            raise ValueError(
                "If `graph_def` is `None`, must provide `default_graph_def_fn`: a function that loads "
                "a frozen Inception, as get_graph_def_from_disk does."
            )
        graph_def = default_graph_def_fn()
    outputs = run_image_classifier(images, graph_def, input_tensor, output_tensor, num_batches)
    return [flatten(x) for x in outputs] if isinstance(outputs, list) else flatten(outputs)


_POOLED = functools.partial(run_inception, output_tensor=INCEPTION_FINAL_POOL)
inception_score = functools.partial(classifier_score, classifier_fn=run_inception)
frechet_inception_distance = functools.partial(frechet_classifier_distance, classifier_fn=_POOLED)
kernel_inception_distance = functools.partial(kernel_classifier_distance, classifier_fn=_POOLED)
kernel_inception_distance_and_std = functools.partial(
    kernel_classifier_distance_and_std, classifier_fn=_POOLED
)
