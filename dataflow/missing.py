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
    "contrib.slim.nets.vgg": "of slim's networks, inception_v3 is here.",
    "contrib.training.batch_sequences_with_states": "cut sequences in Python, and feed the state of the "
    "last part: tf.nn.dynamic_rnn(..., initial_state=state).",
    "contrib.training.rejection_sample": "use dataset.filter, or tf.boolean_mask of a batch.",
    "contrib.training.resample_at_rate": "use tf.gather with indices drawn by tf.multinomial.",
    "contrib.training.stratified_sample": "make a Dataset for each class, and join them with "
    "tf.data.Dataset.zip.",
    "contrib.training.weighted_resample": "use tf.gather with indices drawn by tf.multinomial.",
    "enable_v2_behavior": "dataflow is TensorFlow 1's graph mode; leave the line out.",
    "profiler": "run with tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and look at the "
    "tf.RunMetadata with tf.python.client.timeline, or a dataflow_widgets Timeline.",
    "summary.create_file_writer": "it is TensorFlow 2's; use tf.summary.FileWriter(logdir).",
    "python.debug": "tfdbg is not here; use tf.Print, sess.explain(fetches), or the stepper of "
    "dataflow_widgets.",
    "sysconfig": "dataflow has no C++ library to build against.",
    "tpu": "there are no TPUs here; devices are CPUs and GPUs, see tf.device.",
    "load_op_library": "custom ops in C++ cannot be loaded: there is no TensorFlow runtime here; write "
    "the op with tf.py_func, or from ops that are here.",
    "load_library": "compiled libraries cannot be loaded: there is no TensorFlow runtime here.",
    "load_file_system_library": "compiled libraries cannot be loaded: files are Python's own.",
    "xla": "XLA is not here; sessions compile graphs by themselves, leave the line out.",
    "compiler": "XLA is not here; sessions compile graphs by themselves, leave the line out.",
    "function": "tf.function is TensorFlow 2's; here every computation is a graph already.",
    "GradientTape": "tf.GradientTape is TensorFlow 2's; use tf.gradients(ys, xs).",
    "enable_eager_execution": "eager execution is not part of graph mode; use a tf.Session.",
}

#: The packages of ``tf.contrib`` that are not here: what each was, and what to write instead.
_CONTRIB = {
    "all_reduce": ("sums over devices", "use tf.add_n of the devices' tensors"),
    "batching": ("batches of requests to a server", "batch with tf.train.batch or a Dataset"),
    "bayesflow": ("Monte Carlo estimates", "draw with tf.random_normal and take tf.reduce_mean"),
    "bigtable": ("a reader of Google's Bigtable", "read with a Python client in a tf.py_func"),
    "boosted_trees": ("gradient boosted trees", "use scikit-learn's GradientBoostingClassifier"),
    "checkpoint": ("object-based checkpoints", "use tf.train.Saver"),
    "cloud": ("readers of Google Cloud's storage", "read local files with tf.data"),
    "cluster_resolver": (
        "addresses of clusters and TPUs on Google Cloud",
        "write tf.train.ClusterSpec({...}), or use tf.cluster.launch",
    ),
    "coder": ("range coding", "code in Python with tf.py_func"),
    "compiler": ("XLA's just-in-time compiler", "leave it out: sessions compile graphs themselves"),
    "constrained_optimization": (
        "optimizers under constraints",
        "add a penalty to the loss, weighted by a tf.Variable",
    ),
    "copy_graph": ("copies of graphs", "use tf.import_graph_def(graph.as_graph_def())"),
    "decision_trees": ("a format of trees", "use scikit-learn's trees"),
    "deprecated": ("summaries before 1.0", "use tf.summary.scalar and its like"),
    "distribute": ("distribution strategies", "use tf.train.replica_device_setter or tf.cluster"),
    "eager": ("eager execution", "build a graph and run it in a tf.Session"),
    "factorization": (
        "k-means, Gaussian mixtures and WALS",
        "use scikit-learn's KMeans, or write "
        "the updates with tf.argmin and tf.unsorted_segment_mean",
    ),
    "ffmpeg": ("a decoder of audio and video", "use tf.audio.decode_wav"),
    "fused_conv": ("a fused convolution for GPUs", "use tf.nn.conv2d, tf.nn.bias_add, tf.nn.relu"),
    "gan": ("training loops of GANs (TFGAN)", "minimize each loss with its own var_list in turn"),
    "grid_rnn": ("grid LSTM cells", "use tf.nn.rnn_cell.MultiRNNCell"),
    "hadoop": ("a reader of Hadoop's files", "write TFRecord files"),
    "hooks": ("a profiling hook", "use tf.train.ProfilerHook"),
    "input_pipeline": ("an op that picks files", "use tf.data.Dataset.list_files"),
    "integrate": ("odeint", "step with tf.while_loop, or use scipy.integrate for arrays"),
    "kafka": ("a reader of Kafka", "use tf.data.Dataset.from_generator"),
    "kernel_methods": ("random Fourier features", "use tf.cos(tf.matmul(x, W) + b), W drawn once"),
    "kinesis": ("a reader of Kinesis", "use tf.data.Dataset.from_generator"),
    "labeled_tensor": ("tensors with named axes", "use plain tensors, and name axes in comments"),
    "linear_optimizer": ("SDCA", "use tf.train.FtrlOptimizer"),
    "lite": ("the converter for phones", "save with tf.saved_model.simple_save and convert there"),
    "memory_stats": ("counters of GPU memory", "look at tf.RunMetadata of a traced run"),
    "meta_graph_transform": ("changes of saved graphs", "use tf.graph_util"),
    "mixed_precision": ("loss scaling", "multiply the loss, and divide the gradients"),
    "model_pruning": ("pruning of weights", "multiply weights by a mask variable"),
    "mpi_collectives": ("collectives over MPI", "use tf.cluster"),
    "nccl": ("collectives of NVIDIA's", "use tf.add_n of the devices' tensors"),
    "ndlstm": ("LSTMs over images", "use tf.nn.dynamic_rnn over rows and columns in turn"),
    "nearest_neighbor": ("hyperplane hashing", "use tf.nn.top_k of distances"),
    "nn": ("older losses", "use tf.nn"),
    "optimizer_v2": ("optimizers' second interface", "use tf.train"),
    "periodic_resample": ("an op that rearranges axes", "use tf.depth_to_space"),
    "predictor": ("predictions from a SavedModel", "use tf.saved_model.loader.load and run"),
    "proto": ("decoders of protocol buffers", "parse in a tf.py_func"),
    "quantization": ("fake quantization", "use tf.quantization"),
    "quantize": (
        "rewrites for quantized training",
        "put tf.quantization.fake_quant_* in the graph",
    ),
    "rate": ("a rate over time", "divide counters of your own"),
    "receptive_field": ("receptive fields of CNNs", "add (kernel - 1) * stride layer by layer"),
    "recurrent": ("a functional recurrence", "use tf.scan or tf.nn.dynamic_rnn"),
    "reduce_slice_ops": ("reductions of slices", "use tf.segment_sum"),
    "remote_fused_graph": ("graphs for phones' chips", "leave it out"),
    "resampler": (
        "bilinear sampling",
        "gather the four neighbors with tf.gather_nd and weigh them",
    ),
    "rpc": ("remote calls", "call in a tf.py_func"),
    "saved_model": ("readers of SavedModels", "use tf.saved_model"),
    "session_bundle": (
        "a format before SavedModel",
        "use tf.saved_model.simple_save(session, folder, inputs, outputs)",
    ),
    "signal": ("spectra and frames of signals", "use tf.signal"),
    "solvers": ("iterative linear solvers", "use tf.matrix_solve or tf.while_loop"),
    "sparsemax": ("the sparsemax activation", "write it with tf.nn.top_k and tf.cumsum"),
    "specs": ("a small language for networks", "write tf.layers"),
    "stat_summarizer": ("times of ops", "use a traced run and tf.python.client.timeline"),
    "stateless": ("random ops with a seed as input", "use tf.random_uniform(..., seed=)"),
    "statsmodels": ("statistics", "use scipy.stats"),
    "summary": ("summaries of eager execution", "use tf.summary"),
    "tensor_forest": ("random forests", "use scikit-learn's RandomForestClassifier"),
    "tensorrt": ("NVIDIA's TensorRT", "leave it out: sessions compile graphs themselves"),
    "testing": ("readers of summaries in tests", "use tf.train.summary_iterator"),
    "text": ("skip-gram sampling", "make the pairs in Python, as lesson 10 does"),
    "tfprof": ("the profiler", "use a traced run and tf.python.client.timeline"),
    "timeseries": ("models of time series", "write the model with tf.nn.dynamic_rnn"),
    "tpu": (
        "estimators and ops for TPUs",
        "there are none here; devices are CPUs and GPUs, so use tf.estimator.Estimator",
    ),
    "verbs": ("RDMA between tasks", "leave it out: tf.cluster chooses the transport"),
}


def advice(path: str) -> str:
    """What ``tf.<path>`` was and what to write instead; empty where nothing is known of it."""
    if path in _ADVICE:
        return _ADVICE[path]
    root, _, name = path.partition(".")
    what, instead = _CONTRIB.get(name, ("", "")) if root == "contrib" else ("", "")
    return f"It was {what}: {instead}." if what else ""


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
