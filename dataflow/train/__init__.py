"""``tf.train``: optimizers, checkpoints, sessions that look after themselves, input queues."""

from __future__ import annotations

from dataflow.graph.serialize import write_graph
from dataflow.summary.file_writer import FileWriter as SummaryWriter
from dataflow.train.adadelta import AdadeltaOptimizer
from dataflow.train.adagrad import (
    AdagradDAOptimizer,
    AdagradOptimizer,
    ProximalAdagradOptimizer,
)
from dataflow.train.adam import AdamOptimizer
from dataflow.train.background_jobs import background
from dataflow.train.checkpoint_initializers import init_from_checkpoint, warm_start
from dataflow.train.checkpoint_management import (
    checkpoint_exists,
    checkpoints_iterator,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    remove_checkpoint,
    update_checkpoint_state,
)
from dataflow.train.checkpoint_reader import NewCheckpointReader
from dataflow.train.coordinator import Coordinator, LooperThread
from dataflow.train.device_setter import replica_device_setter
from dataflow.train.ftrl import FtrlOptimizer
from dataflow.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from dataflow.train.gradient_descent import GradientDescentOptimizer
from dataflow.train.hooks import (
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    SecondOrStepTimer,
    StopAtStepHook,
)
from dataflow.train.input import (
    batch,
    batch_join,
    input_producer,
    limit_epochs,
    match_filenames_once,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    range_input_producer,
    shuffle_batch,
    shuffle_batch_join,
    slice_input_producer,
    string_input_producer,
)
from dataflow.train.learning_rate_decay import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from dataflow.train.meta_graph import export_meta_graph
from dataflow.train.momentum import MomentumOptimizer
from dataflow.train.monitored_session import (
    MonitoredSession,
    MonitoredTrainingSession,
    SingularMonitoredSession,
)
from dataflow.train.moving_averages import ExponentialMovingAverage
from dataflow.train.optimizer import Optimizer
from dataflow.train.proximal_gradient_descent import ProximalGradientDescentOptimizer
from dataflow.train.queue_runner import (
    QueueRunner,
    add_queue_runner,
    start_queue_runners,
)
from dataflow.train.rmsprop import RMSPropOptimizer
from dataflow.train.saver import Saver, import_meta_graph
from dataflow.train.saving_hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    ProfilerHook,
    StepCounterHook,
    SummarySaverHook,
)
from dataflow.train.scaffold import (
    ChiefSessionCreator,
    Scaffold,
    SessionCreator,
    WorkerSessionCreator,
)
from dataflow.train.session_manager import SessionManager
from dataflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from dataflow.train.supervisor import Supervisor, basic_train_loop
from dataflow.train.sync_replicas import SyncReplicasOptimizer


_LAZY = {
    **dict.fromkeys(
        ("ClusterDef", "ClusterSpec", "JobDef", "Server", "ServerDef"), "dataflow.cluster"
    ),
    **dict.fromkeys(
        (
            "BytesList",
            "Example",
            "Feature",
            "FeatureList",
            "FeatureLists",
            "Features",
            "FloatList",
            "Int64List",
            "SequenceExample",
        ),
        "dataflow.train.example_protos",
    ),
    "SaverDef": "tensorboard.compat.proto.saver_pb2",
}


def __getattr__(name: str) -> object:
    """Clusters and messages, which are loaded when first used."""
    if name in _LAZY:
        import importlib

        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'dataflow.train' has no attribute {name!r}")


def summary_iterator(path: str) -> object:
    """The ``Event`` messages of an event file, one by one."""
    from dataflow.summary.event_files import read_events

    return read_events(path)
