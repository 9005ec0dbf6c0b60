"""What to say when somebody asks for a name that ``tf`` does not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Names that are not here, by their path below ``tf``, and what to write instead.
_ADVICE = {
    "config.experimental.list_physical_devices": "use "
    "tf.python.client.device_lib.list_local_devices(), or tf.test.is_gpu_available().",
    "config.experimental.set_memory_growth": "memory grows as it is needed; a limit is "
    "tf.GPUOptions(per_process_gpu_memory_fraction=...).",
    "contrib.learn.TensorFlowEstimator": "it went away before TensorFlow 1.0; use "
    "tf.contrib.learn.Estimator(model_fn) or tf.estimator.DNNClassifier.",
    "contrib.learn.train": "use estimator.fit(input_fn=...), or a training loop within "
    "tf.train.MonitoredTrainingSession().",
    "contrib.session_bundle": "it came before SavedModel; use tf.saved_model.simple_save(session, "
    "folder, inputs, outputs).",
    "contrib.slim.learning": "use tf.train.MonitoredTrainingSession, or a loop of your own that "
    "runs optimizer.minimize(loss).",
    "contrib.slim.nets.vgg": "of slim's networks, inception_v3 is here.",
    "contrib.tpu": "there are no TPUs here; devices are CPUs and GPUs.",
    "enable_v2_behavior": "dataflow is TensorFlow 1's graph mode; leave the line out.",
    "profiler": "run with tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and look at the "
    "tf.RunMetadata with tf.python.client.timeline, or a dataflow_widgets Timeline.",
    "resource_loader": "use os.path or importlib.resources.",
    "summary.create_file_writer": "it is TensorFlow 2's; use tf.summary.FileWriter(logdir).",
    "sysconfig": "dataflow has no C++ library to build against.",
    "tpu": "there are no TPUs here; devices are CPUs and GPUs, see tf.device.",
    "function": "tf.function is TensorFlow 2's; here every computation is a graph already.",
    "GradientTape": "tf.GradientTape is TensorFlow 2's; use tf.gradients(ys, xs).",
    "enable_eager_execution": "eager execution is not part of graph mode; use a tf.Session.",
}


def advice(path: str) -> str:
    """What to write instead of ``tf.<path>``; empty where nothing is known of it."""
    return _ADVICE.get(path, "")


#: What people call the arguments of `Session.run`, and what they are called.
_ARGUMENTS = {"feed": "feed_dict", "feeds": "feed_dict", "fetch": "fetches"}


def unknown_argument(function: str, given: Iterable[str], known: Sequence[str]) -> TypeError:
    """The error for keyword arguments that ``function`` does not have, with the nearest it has."""
    import difflib

    name = next(iter(given))
    close = [_ARGUMENTS[name]] if _ARGUMENTS.get(name) in known else []
    close = close or difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"It takes {', '.join(known)}."
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}. {hint}")
