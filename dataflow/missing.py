"""What to say when somebody asks for a name that ``tf`` does not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Names that are not here, by their path below ``tf``, and what to write instead.
_ADVICE = {
    "concat_v2": "it is tf.concat(values, axis) since TensorFlow 1.0, with the same arguments.",
    "models": "it went away before TensorFlow 1.0; cells are in tf.nn.rnn_cell, the sequence models of "
    "models.rnn in tf.contrib.legacy_seq2seq.",
    "nn.deconv2d": "it was renamed: use tf.nn.conv2d_transpose.",
    "contrib.learn.TensorFlowEstimator": "it went away before TensorFlow 1.0; use "
    "tf.contrib.learn.Estimator(model_fn) or tf.estimator.DNNClassifier.",
    "contrib.learn.train": "use estimator.fit(input_fn=...), or a training loop within "
    "tf.train.MonitoredTrainingSession().",
    "profiler.advise": "look at the times of tf.profiler.profile(run_meta=...).",
    "summary.create_file_writer": "it is TensorFlow 2's; use tf.summary.FileWriter(logdir).",
    "sysconfig": "dataflow has no C++ library to build against.",
    "load_op_library": "custom ops in C++ cannot be loaded: there is no TensorFlow runtime here; write "
    "the op with tf.extend.define_op and its kernel in Python, or with tf.py_func.",
    "load_library": "compiled libraries cannot be loaded: there is no TensorFlow runtime here.",
    "load_file_system_library": "compiled libraries cannot be loaded: files are Python's own.",
    "compiler": "XLA is not here; sessions compile graphs by themselves, leave the line out.",
}

_TPU = "there are no TPUs here; devices are CPUs and GPUs, see tf.device."

#: What stands for several names below one path: (path, names, what to write instead).
_GROUPS = (
    ("", "approx_top_k", "it is for TPUs; use tf.nn.top_k."),
    (
        "tpu",
        "batch_parallel core experimental initialize_system outside_compilation replicate rewrite shard "
        "shutdown_system",
        _TPU,
    ),
    (
        "contrib.tpu",
        "batch_parallel core initialize_system outside_compilation replicate rewrite shard "
        "shutdown_system AsyncCheckpointSaverHook TPUDistributionStrategy keras_to_tpu_model",
        _TPU,
    ),
    ("nn", "approx_max_k approx_min_k", "they are for TPUs; use tf.nn.top_k."),
    ("math", "approx_max_k approx_min_k", "they are for TPUs; use tf.nn.top_k."),
    (
        "",
        "LMDBReader",
        "databases of LMDB cannot be read: write TFRecord files with "
        "tf.io.TFRecordWriter, or read with Python's lmdb in tf.data.Dataset.from_generator.",
    ),
    (
        "",
        "mixed_precision experimental types mlir",
        "it is not part of graph mode here: "
        "place towers with tf.device, share variables between processes with "
        "tf.train.replica_device_setter or tf.cluster.",
    ),
    (
        "",
        "lite",
        "there is no converter for phones; save with tf.saved_model.simple_save and convert there.",
    ),
    (
        "",
        "fftnd ifftnd rfftnd irfftnd random_index_shuffle is_symbolic_tensor conv "
        "conv2d_backprop_filter_v2 conv2d_backprop_input_v2 ragged_fill_empty_rows "
        "ragged_fill_empty_rows_grad nondifferentiable_batch_function",
        "it came with TensorFlow 2; TensorFlow 1 has tf.signal.fft2d, tf.nn.conv2d and their like.",
    ),
    (
        "signal",
        "fftnd ifftnd rfftnd irfftnd",
        "they came with TensorFlow 2; use tf.signal.fft, fft2d and fft3d.",
    ),
    (
        "",
        "quantized_concat",
        "arithmetic on quantized tensors is not here; use "
        "tf.quantization.fake_quant_with_min_max_vars.",
    ),
    (
        "layers",
        "experimental",
        "it gave layers variables of their own, whatever their names; use layers of tf.keras.layers.",
    ),
    (
        "data.experimental",
        "AutotuneAlgorithm AutotuneOptions DatasetInitializer enable_debug_mode from_list "
        "index_table_from_dataset pad_to_cardinality service snapshot table_from_dataset",
        "it came with TensorFlow 2; make datasets with tf.data.Dataset, and tables with tf.lookup.",
    ),
    (
        "data.experimental",
        "TensorArrayStructure dense_to_ragged_batch",
        "elements of datasets are dense or sparse tensors here; use dataset.padded_batch, or "
        "tf.data.experimental.dense_to_sparse_batch.",
    ),
    (
        "contrib.checkpoint",
        "NumpyState capture_dependencies dot_graph_from_checkpoint object_metadata split_dependency",
        "it served libraries of layers; use tf.train.Checkpoint, and numpy.savez for arrays.",
    ),
    (
        "data.experimental",
        "StatsAggregator StatsOptions bytes_produced_stats latency_stats set_stats_aggregator",
        "it measured pipelines; use a traced run and tf.python.client.timeline.",
    ),
    (
        "estimator.experimental",
        "LinearSDCA",
        "use tf.contrib.linear_optimizer.SDCAOptimizer with tf.contrib.learn.LinearClassifier.",
    ),
    (
        "contrib.timeseries",
        "StructuralEnsembleRegressor",
        "it was a Kalman filter; use tf.contrib.timeseries.ARRegressor with the same periodicities.",
    ),
    (
        "contrib.learn",
        "LogisticRegressor",
        "use tf.contrib.learn.LinearClassifier, or scikit-learn's SVC.",
    ),
    (
        "contrib.learn",
        "read_keyed_batch_examples_shared_queue read_keyed_batch_features_shared_queue",
        "its workers shared a queue of files; use tf.contrib.learn.read_keyed_batch_features, or a Dataset "
        "with shard.",
    ),
    (
        "contrib.learn",
        "extract_dask_data extract_dask_labels",
        "pass frame.values, or use tf.estimator.inputs.pandas_input_fn.",
    ),
    (
        "contrib.learn",
        "evaluate infer run_feeds run_n graph_actions BaseEstimator",
        "it was the machinery below tf.contrib.learn.Estimator: use the estimator's methods.",
    ),
    (
        "contrib.framework",
        "RecordInput fuse_op",
        "use tf.data.TFRecordDataset to read; leave fuse_op out: sessions compile graphs by themselves.",
    ),
    (
        "contrib.image",
        "bipartite_match single_image_random_dot_stereograms",
        "compute it with SciPy (scipy.optimize.linear_sum_assignment) or NumPy in a tf.py_func.",
    ),
    (
        "contrib.metrics",
        "auc_with_confidence_intervals",
        "use tf.metrics.auc, and scikit-learn for its confidence.",
    ),
    (
        "contrib.distributions",
        "Autoregressive VectorDiffeomixture VectorSinhArcsinhDiag "
        "PoissonLogNormalQuadratureCompound quadrature_scheme_lognormal_gauss_hermite "
        "quadrature_scheme_lognormal_quantiles quadrature_scheme_softmaxnormal_gauss_hermite "
        "quadrature_scheme_softmaxnormal_quantiles estimator_head_distribution_regression",
        "write it with TransformedDistribution, MixtureSameFamily or Independent and "
        "tf.contrib.distributions.bijectors, or subclass Distribution.",
    ),
    (
        "contrib.layers",
        "RevBlock rev_block",
        "it saved memory by computing activations again; call the layers one after the other.",
    ),
    (
        "contrib.factorization",
        "WALSMatrixFactorization",
        "it was WALSModel as an estimator; train with WALSModel's update ops.",
    ),
    (
        "contrib.estimator",
        "replicate_model_fn TowerOptimizer",
        "it copied a model to several GPUs; place towers with tf.device.",
    ),
    (
        "contrib.estimator",
        "SavedModelEstimator",
        "they wrote and read SavedModels of several modes; use "
        "estimator.experimental_export_all_saved_models and tf.saved_model.loader.load.",
    ),
    (
        "contrib.summary",
        "create_db_writer",
        "it wrote to an SQLite database; use tf.contrib.summary.create_file_writer(logdir).",
    ),
    ("summary", "get_summary_description", "it read a node's attribute; use node.attr."),
    (
        "train",
        "do_quantize_training_on_graphdef",
        "it put fake quantization into a graph; write tf.quantization.fake_quant_with_min_max_vars.",
    ),
    (
        "quantization",
        "quantize_and_dequantize_v2 experimental",
        "it came with TensorFlow 2; use tf.quantization.quantize_and_dequantize.",
    ),
    (
        "quantization",
        "quantized_concat",
        "arithmetic on quantized tensors is not here; use "
        "tf.quantization.fake_quant_with_min_max_vars.",
    ),
    ("nn", "experimental", "it came with TensorFlow 2; use tf.nn.dropout."),
    (
        "compat",
        "forward_compat",
        "dataflow is TensorFlow 1's graph mode; use the names of tf itself.",
    ),
    (
        "data.Dataset",
        "bucket_by_sequence_length choose_from_datasets group_by_window rejection_resample "
        "sample_from_datasets",
        "it became a method in TensorFlow 2; the function of this name is in tf.data.experimental.",
    ),
    (
        "data.Dataset",
        "as_numpy_iterator get_single_element",
        "it is of eager execution; run tf.data.make_one_shot_iterator(dataset).get_next() in a "
        "tf.Session.",
    ),
    (
        "data.Dataset",
        "cardinality",
        "it became a method in TensorFlow 2; use tf.data.experimental.cardinality(dataset).",
    ),
    (
        "data.Dataset",
        "counter random snapshot save load ragged_batch sparse_batch rebatch",
        "it came with TensorFlow 2; see tf.data.experimental for what there is.",
    ),
    ("", "user_ops", "it holds an example of a C++ op; write ops with tf.py_func."),
    (
        "",
        "TensorArraySpec type_spec_from_value",
        "of type specs tf.TensorSpec, SparseTensorSpec, RaggedTensorSpec and IndexedSlicesSpec are here.",
    ),
    (
        "strings",
        "unicode_script",
        "Python does not know the scripts of characters; use unicodedata.name in a tf.py_func.",
    ),
    (
        "image",
        "generate_bounding_box_proposals",
        "use tf.image.non_max_suppression, for each class and image.",
    ),
    (
        "train",
        "CheckpointOptions",
        "it came with TensorFlow 2; call tf.train.Checkpoint without options.",
    ),
    ("train", "sdca_optimizer sdca_shrink_l1", "use tf.contrib.linear_optimizer.SdcaModel."),
    ("math", "special sobol_sample", "it came with TensorFlow 2; use scipy in a tf.py_func."),
    (
        "linalg",
        "LinearOperatorBlockLowerTriangular LinearOperatorPermutation LinearOperatorTridiag "
        "eigh_tridiagonal",
        "it came with TensorFlow 2; use a LinearOperatorFullMatrix or tf.linalg.eigh.",
    ),
    (
        "random",
        "Generator Algorithm create_rng_state get_global_generator set_global_generator "
        "split fold_in stateless_binomial stateless_gamma stateless_poisson "
        "stateless_parameterized_truncated_normal",
        "it came with TensorFlow 2; use tf.random.uniform(seed=...) and its like, or "
        "tf.random.stateless_uniform.",
    ),
    (
        "sparse",
        "bincount",
        "it came later than TensorFlow 1; use tf.math.bincount "
        "or tf.feature_column.crossed_column.",
    ),
    (
        "ragged",
        "cross cross_hashed",
        "it came with TensorFlow 2; use tf.feature_column.crossed_column.",
    ),
    (
        "io",
        "decode_proto encode_proto RaggedFeature",
        "parse messages in a tf.py_func, or tf.io.parse_example for tf.train.Example.",
    ),
    (
        "saved_model",
        "SaveOptions experimental",
        "it is TensorFlow 2's; tf.saved_model.save(obj, folder, signatures) takes no options.",
    ),
    (
        "data",
        "NumpyIterator ThreadingOptions",
        "it is of eager execution; use tf.data.make_one_shot_iterator(dataset).",
    ),
    (
        "distribute.cluster_resolver",
        "GCEClusterResolver KubernetesClusterResolver SlurmClusterResolver TPUClusterResolver",
        "they ask a cloud's service; write a SimpleClusterResolver(tf.train.ClusterSpec({...})).",
    ),
    (
        "contrib.distribute",
        "Monitor MultiWorkerAllReduce StandardInputStep StandardSingleLossStep Step "
        "UpdateContext initialize_tpu_system require_replica_context "
        "run_standard_tensorflow_server",
        "it went before tf.distribute was finished; use tf.distribute's names.",
    ),
    (
        "config",
        "LogicalDeviceConfiguration experimental_connect_to_cluster experimental_connect_to_host",
        "settings are those of a session: tf.Session(config=tf.ConfigProto(...)).",
    ),
    (
        "debugging",
        "enable_check_numerics disable_check_numerics experimental",
        "use tf.add_check_numerics_ops().",
    ),
)
_ADVICE |= {
    f"{path}.{name}".lstrip("."): advice
    for path, names, advice in _GROUPS
    for name in names.split()
}

#: The packages of ``tf.contrib`` that are not here: what each was, and what to write instead.
_CONTRIB = {
    "all_reduce": ("sums over devices", "use tf.add_n of the devices' tensors"),
    "batching": ("batches of requests to a server", "batch with tf.train.batch or a Dataset"),
    "bigtable": ("a reader of Google's Bigtable", "read with a Python client in a tf.py_func"),
    "boosted_trees": ("gradient boosted trees", "use tf.estimator.BoostedTreesClassifier"),
    "cloud": ("readers of Google Cloud's storage", "read local files with tf.data"),
    "cluster_resolver": (
        "addresses of clusters and TPUs on Google Cloud",
        "use tf.distribute.cluster_resolver, or write tf.train.ClusterSpec({...})",
    ),
    "coder": ("range coding", "code in Python with tf.py_func"),
    "decision_trees": ("a format of trees", "use scikit-learn's trees"),
    "ffmpeg": ("a decoder of audio and video", "use tf.audio.decode_wav"),
    "fused_conv": ("a fused convolution for GPUs", "use tf.nn.conv2d, tf.nn.bias_add, tf.nn.relu"),
    "grid_rnn": ("grid LSTM cells", "use tf.nn.rnn_cell.MultiRNNCell"),
    "hadoop": ("a reader of Hadoop's files", "write TFRecord files"),
    "input_pipeline": ("an op that picks files", "use tf.data.Dataset.list_files"),
    "kafka": ("a reader of Kafka", "use tf.data.Dataset.from_generator"),
    "kinesis": ("a reader of Kinesis", "use tf.data.Dataset.from_generator"),
    "labeled_tensor": ("tensors with named axes", "use plain tensors, and name axes in comments"),
    "lite": ("the converter for phones", "save with tf.saved_model.simple_save and convert there"),
    "memory_stats": ("counters of GPU memory", "look at tf.RunMetadata of a traced run"),
    "meta_graph_transform": ("changes of saved graphs", "use tf.graph_util"),
    "mpi_collectives": ("collectives over MPI", "use tf.cluster"),
    "ndlstm": ("LSTMs over images", "use tf.nn.dynamic_rnn over rows and columns in turn"),
    "nearest_neighbor": ("hyperplane hashing", "use tf.nn.top_k of distances"),
    "periodic_resample": ("an op that rearranges axes", "use tf.depth_to_space"),
    "proto": ("decoders of protocol buffers", "parse in a tf.py_func"),
    "quantization": ("fake quantization", "use tf.quantization"),
    "rate": ("a rate over time", "divide counters of your own"),
    "receptive_field": ("receptive fields of CNNs", "add (kernel - 1) * stride layer by layer"),
    "recurrent": ("a functional recurrence", "use tf.scan or tf.nn.dynamic_rnn"),
    "reduce_slice_ops": ("reductions of slices", "use tf.segment_sum"),
    "remote_fused_graph": ("graphs for phones' chips", "leave it out"),
    "rpc": ("remote calls", "call in a tf.py_func"),
    "session_bundle": (
        "a format before SavedModel",
        "use tf.saved_model.simple_save(session, folder, inputs, outputs)",
    ),
    "specs": ("a small language for networks", "write tf.layers"),
    "stat_summarizer": ("times of ops", "use a traced run and tf.python.client.timeline"),
    "statsmodels": ("statistics", "use scipy.stats"),
    "tensorrt": ("NVIDIA's TensorRT", "leave it out: sessions compile graphs themselves"),
    "text": ("skip-gram sampling", "make the pairs in Python, as lesson 10 does"),
    "verbs": ("RDMA between tasks", "leave it out: tf.cluster chooses the transport"),
}


def paths() -> list[str]:
    """The paths below ``tf`` that `advice` knows of."""
    return [*_ADVICE, *(f"contrib.{name}" for name in _CONTRIB)]


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
