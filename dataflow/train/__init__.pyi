from dataflow.train import experimental as experimental, queue_runner as queue_runner
from dataflow.cluster import (
    ClusterDef as ClusterDef,
    ClusterSpec as ClusterSpec,
    JobDef as JobDef,
    Server as Server,
    ServerDef as ServerDef,
)
from dataflow.graph.serialize import write_graph as write_graph
from dataflow.formats.event_files import read_events as summary_iterator
from dataflow.summary.file_writer import FileWriter as SummaryWriter
from dataflow.train.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from dataflow.train.adagrad import (
    AdagradDAOptimizer as AdagradDAOptimizer,
    AdagradOptimizer as AdagradOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
)
from dataflow.train.adam import AdamOptimizer as AdamOptimizer
from dataflow.train.background_jobs import background as background
from dataflow.train.checkpoint_initializers import (
    VocabInfo as VocabInfo,
    init_from_checkpoint as init_from_checkpoint,
    warm_start as warm_start,
)
from dataflow.train.checkpoint_management import (
    checkpoint_exists as checkpoint_exists,
    checkpoints_iterator as checkpoints_iterator,
    generate_checkpoint_state_proto as generate_checkpoint_state_proto,
    get_checkpoint_mtimes as get_checkpoint_mtimes,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
    remove_checkpoint as remove_checkpoint,
    update_checkpoint_state as update_checkpoint_state,
)
from dataflow.train.checkpoint_manager import CheckpointManager as CheckpointManager
from dataflow.formats.checkpoint_reader import NewCheckpointReader as NewCheckpointReader
from dataflow.train.coordinator import Coordinator as Coordinator, LooperThread as LooperThread
from dataflow.train.device_setter import replica_device_setter as replica_device_setter
from dataflow.formats.example_protos import (
    BytesList as BytesList,
    Example as Example,
    Feature as Feature,
    FeatureList as FeatureList,
    FeatureLists as FeatureLists,
    Features as Features,
    FloatList as FloatList,
    Int64List as Int64List,
    SequenceExample as SequenceExample,
)
from dataflow.train.ftrl import FtrlOptimizer as FtrlOptimizer
from dataflow.train.global_step import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
)
from dataflow.train.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from dataflow.train.hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
    SecondOrStepTimer as SecondOrStepTimer,
    StopAtStepHook as StopAtStepHook,
)
from dataflow.train.input import (
    input_producer as input_producer,
    limit_epochs as limit_epochs,
    match_filenames_once as match_filenames_once,
    range_input_producer as range_input_producer,
    slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)
from dataflow.train.batching import (
    batch as batch,
    batch_join as batch_join,
    maybe_batch as maybe_batch,
    maybe_batch_join as maybe_batch_join,
    maybe_shuffle_batch as maybe_shuffle_batch,
    maybe_shuffle_batch_join as maybe_shuffle_batch_join,
    shuffle_batch as shuffle_batch,
    shuffle_batch_join as shuffle_batch_join,
)
from dataflow.train.learning_rate_decay import (
    cosine_decay as cosine_decay,
    cosine_decay_restarts as cosine_decay_restarts,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    linear_cosine_decay as linear_cosine_decay,
    natural_exp_decay as natural_exp_decay,
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
    piecewise_constant as piecewise_constant,
    piecewise_constant_decay as piecewise_constant_decay,
    polynomial_decay as polynomial_decay,
)
from dataflow.train.meta_graph import export_meta_graph as export_meta_graph
from dataflow.train.momentum import MomentumOptimizer as MomentumOptimizer
from dataflow.train.monitored_session import (
    MonitoredSession as MonitoredSession,
    MonitoredTrainingSession as MonitoredTrainingSession,
    SingularMonitoredSession as SingularMonitoredSession,
)
from dataflow.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from dataflow.train.object_checkpoint import Checkpoint as Checkpoint
from dataflow.train.optimizer import Optimizer as Optimizer
from dataflow.train.proximal_gradient_descent import (
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from dataflow.train.queue_runner import (
    add_queue_runner as add_queue_runner,
    QueueRunner as QueueRunner,
    start_queue_runners as start_queue_runners,
)
from dataflow.train.rmsprop import RMSPropOptimizer as RMSPropOptimizer
from dataflow.train.saver import import_meta_graph as import_meta_graph, Saver as Saver
from dataflow.train.saving_hooks import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
    ProfilerHook as ProfilerHook,
    StepCounterHook as StepCounterHook,
    SummarySaverHook as SummarySaverHook,
)
from dataflow.train.scaffold import (
    ChiefSessionCreator as ChiefSessionCreator,
    Scaffold as Scaffold,
    SessionCreator as SessionCreator,
    WorkerSessionCreator as WorkerSessionCreator,
)
from dataflow.train.session_manager import SessionManager as SessionManager
from dataflow.train.session_run_hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from dataflow.train.supervisor import basic_train_loop as basic_train_loop, Supervisor as Supervisor
from dataflow.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from tensorboard.compat.proto.saver_pb2 import SaverDef as SaverDef
