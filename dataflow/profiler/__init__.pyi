from dataflow.profiler.nodes import GraphNodeProto as GraphNodeProto
from dataflow.profiler.nodes import MultiGraphNodeProto as MultiGraphNodeProto
from dataflow.profiler.op_log import write_op_log as write_op_log
from dataflow.profiler.options import ProfileOptionBuilder as ProfileOptionBuilder
from dataflow.profiler.profiler import Profiler as Profiler
from dataflow.profiler.profiler import profile as profile
