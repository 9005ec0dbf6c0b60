from dataflow.cluster import Server as Server
from dataflow.distribute import (
    cluster_resolver as cluster_resolver,
    experimental as experimental,
)
from dataflow.distribute.distributed_input import (
    InputContext as InputContext,
    InputReplicationMode as InputReplicationMode,
)
from dataflow.distribute.reduction import (
    CrossDeviceOps as CrossDeviceOps,
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
    NcclAllReduce as NcclAllReduce,
    ReduceOp as ReduceOp,
    ReductionToOneDevice as ReductionToOneDevice,
)
from dataflow.distribute.replica_threads import ReplicaContext as ReplicaContext
from dataflow.distribute.strategies import (
    MirroredStrategy as MirroredStrategy,
    OneDeviceStrategy as OneDeviceStrategy,
)
from dataflow.distribute.strategy import (
    Strategy as Strategy,
    StrategyExtended as StrategyExtended,
    experimental_set_strategy as experimental_set_strategy,
    get_loss_reduction as get_loss_reduction,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
