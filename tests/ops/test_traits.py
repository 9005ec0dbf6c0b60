"""What ops declare of themselves is what their kernels do."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dataflow
import dataflow as tf
import dataflow.kernels
from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import all_ops, define_op
from dataflow.kernels.loader import all_kernels
from dataflow.python.test_modes import new_eager_mode
from dataflow.runtime import concurrency
from tests.samples import all_samples

KERNELS = Path(dataflow.kernels.__file__).parent


@functools.cache
def _functions() -> list[tuple[str, ast.FunctionDef]]:
    """The functions and methods of the kernel files, with the file's module in `dataflow.kernels`."""
    found = []
    for path in sorted(KERNELS.rglob("*.py")):
        module = ".".join(path.relative_to(KERNELS).with_suffix("").parts)
        todo: list[ast.stmt] = ast.parse(path.read_text()).body
        for node in todo:
            if isinstance(node, ast.ClassDef):
                todo.extend(node.body)
            elif isinstance(node, ast.FunctionDef):
                found.append((module, node))
    return found


def _calls(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None, list[ast.expr]]]:
    """The name of each function called, the object whose method it is, and the arguments."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.func.attr, node.func.value, node.args
            elif isinstance(node.func, ast.Name):
                yield node.func.id, None, node.args


def _is_context(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id in ("context", "ctx")


def _draws_elements(function: ast.FunctionDef) -> bool:
    """Whether the kernel itself, and not a function that it returns, takes elements of a dataset."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(".next")
            and not node.args
        ):
            return True
        if isinstance(node, ast.For) and ast.unparse(node.iter).endswith(".iterate()"):
            return True
        todo.extend(ast.iter_child_nodes(node))
    return False


@functools.cache
def _reaching(method: str) -> frozenset[tuple[str, str]]:
    """File and name of the functions that call that method of their context.

    Those that call one of these are among them; a method is that of its own file, if there is one of
    its name.
    """
    found: set[tuple[str, str]] = set()
    methods = {method}
    defined = {(file, function.name) for file, function in _functions()}

    def reaches(file: str, function: ast.FunctionDef) -> bool:
        for name, of, arguments in _calls(function):
            if of is None:
                if (file, name) in found:
                    return True
            elif any(map(_is_context, [of, *arguments])):
                here = (file, name)
                if here in found if here in defined else name in methods:
                    return True
        return False

    before = -1
    while len(found) > before:
        before = len(found)
        for file, function in _functions():
            if reaches(file, function):
                found.add((file, function.name))
                methods.add(function.name)
    return frozenset(found)


def _kernels_that(holds: Callable[[tuple[str, str]], bool]) -> set[str]:
    """The op types whose kernel, given by its file and name, fulfils a condition."""
    return {op_type for op_type, _ in all_kernels() if holds(_where(op_type))}


def _where(op_type: str) -> tuple[str, str]:
    kernel = next(k for (t, _), k in all_kernels().items() if t == op_type)
    function = inspect.unwrap(kernel.function)
    return function.__module__.removeprefix("dataflow.kernels."), function.__name__


def test_ops_whose_kernels_wait_block() -> None:
    users = {
        (file, function.name)
        for file, function in _functions()
        if any(name == "find_function" for name, _, _ in _calls(function))
        or (file.startswith("dataset.") and _draws_elements(function))
    }
    calls_users = {
        (file, function.name)
        for file, function in _functions()
        if any(of is None and (file, name) in users for name, of, _ in _calls(function))
    }
    waits = _reaching("wait") | _reaching("wait_in_line")
    waiting = _kernels_that(lambda where: where in waits | users | calls_users)
    assert len(waiting) >= 15  # the search finds something
    assert waiting == {t for t, op in all_ops().items() if op.blocks}


def test_ops_whose_kernels_can_be_left_undone_can_be_tried_again() -> None:
    postponing = _kernels_that(lambda where: where in _reaching("postpone_unless"))
    assert len(postponing) >= 5
    # A reader has opened a file by the time its queue would be waited for.
    assert postponing - {"ReaderReadV2", "ReaderReadUpToV2"} == {
        t for t, op in all_ops().items() if op.can_retry
    }
    assert all(op.blocks for op in all_ops().values() if op.can_retry)


def test_what_passes_its_input_on_has_outputs_of_its_dtype() -> None:
    for op in all_ops().values():
        if op.is_alias:
            assert op.inputs[0].type_attr == op.outputs[0].type_attr, op
            assert op.inputs[0].dtype is op.outputs[0].dtype, op
        if op.is_variable:
            assert not op.inputs and op.outputs[0].is_ref and op.stateful, op
        if op.is_handle:
            assert not op.inputs and op.stateful, op
            assert [a.dtype.name for a in op.outputs if a.dtype] == ["resource"], op


def _tensors(op: OpDef, *dims: tuple[int, ...]) -> list[tf.Tensor]:
    """A placeholder for each input, of a dtype that the op takes."""
    result = []
    for arg, sizes in zip(op.inputs, itertools.cycle(dims), strict=False):
        allowed = op.allowed.get(str(arg.type_attr)) or {tf.float32}
        dtype = arg.dtype or (tf.float32 if tf.float32 in allowed else sorted(allowed, key=str)[0])
        result.append(tf.placeholder(dtype, sizes))
    return result


def _result_dims(op: OpDef, tensors: list[tf.Tensor]) -> tuple[int, ...]:
    (dims, *_) = op.infer_dims(tensors, {a.name: a.default for a in op.attrs})
    return dims


def test_what_is_element_wise_has_the_shape_to_which_its_inputs_broadcast() -> None:
    ops = [op for op in all_ops().values() if op.elementwise]
    assert len(ops) >= 100
    with tf.Graph().as_default():
        for op in ops:
            assert _result_dims(op, _tensors(op, (2, 3))) == (2, 3), op
            if op.equal_shapes:
                with pytest.raises(ValueError, match="shape"):
                    _result_dims(op, _tensors(op, (2, 3), (2, 4)))
            elif op.shape_like is None and len(op.inputs) > 1:
                assert _result_dims(op, _tensors(op, (2, 1), (3,))) == (2, 3), op
            assert op.own_memory and op.keeps_nothing, op


def test_lists_of_tensors_are_what_makes_one() -> None:
    makers = {op.type for op in all_ops().values() if op.makes_lists}
    assert makers == {
        op.type
        for op in all_ops().values()
        if "TensorList" in op.type and any(a.dtype is tf.variant for a in op.outputs)
    }
    with new_eager_mode():  # a list that an operation makes is a value, and not a handle
        made = tf.raw_ops.TensorListReserve(
            element_shape=[2], num_elements=3, element_dtype=tf.float32
        )
    assert made.known_value is not None


def test_what_debugs_or_gathers_or_assigns_has_such_arguments() -> None:
    for op in all_ops().values():
        if op.is_debug_identity:
            assert op.has_side_effect and op.inputs[0].type_attr == op.outputs[0].type_attr, op
        if op.gathers:
            assert [a.name for a in op.inputs[:2]] in (
                ["params", "indices"],
                ["resource", "indices"],
            ), op
        if op.is_assignment:
            assert [a.name for a in op.inputs][1:] == ["value"], op
            assert op.inputs[0].is_ref or op.inputs[0].is_handle, op
    assert sum(op.is_assignment for op in all_ops().values()) == 2


def test_numbers_of_inputs_are_numbers_of_inputs() -> None:
    for op in all_ops().values():
        for number in (op.shape_like, op.shape_input):
            assert number is None or number < len(op.inputs), op
        if op.shape_input is not None:
            dtypes = op.allowed.get(str(op.inputs[op.shape_input].type_attr), {tf.int32})
            assert dtypes <= {tf.int32, tf.int64}, op


def test_samples_have_the_shape_of_the_input_that_their_op_names() -> None:
    tried = set()
    for sample in all_samples():
        with tf.Graph().as_default() as graph:
            sample.build(tf, *[tf.constant(i) for i in sample.inputs])
            for op in graph.get_operations():
                like, given = op.op_def.shape_like, op.op_def.shape_input
                if like is not None:
                    dims, named = op.outputs[0].dims, op.inputs[like].dims
                    if dims != named:  # another input may say more
                        assert all(n in (None, d) for d, n in zip(dims, named, strict=True)), op
                elif given is not None and op.inputs[given].op.type == "Const":
                    wanted = tuple(op.inputs[given].op.attrs["value"].tolist())
                    if -1 not in wanted:
                        assert op.outputs[0].dims == wanted, (sample.id, op)
                else:
                    continue
                tried.add(op.type)
    assert len(tried) >= 25


def test_what_stays_on_the_host_is_an_argument_of_the_op() -> None:
    for op in all_ops().values():
        assert set(op.host_inputs) <= {a.name for a in op.inputs}, op
        assert set(op.host_outputs) <= {a.name for a in op.outputs}, op
        assert op.view_of is None or op.view_of < len(op.inputs), op


def test_costs_are_microseconds_of_every_node_of_the_samples() -> None:
    seen = set()
    for sample in all_samples():
        with tf.Graph().as_default() as graph:
            sample.build(tf, *[tf.constant(i) for i in sample.inputs])
            for op in graph.get_operations():
                taken = concurrency.microseconds(op, single=True)
                assert taken is not None and 0 <= taken < 1e6, op
                if not isinstance(op.op_def.cost, float):
                    seen.add(op.type)
    assert {"MatMul", "Conv2D", "Cholesky"} <= seen


def test_a_trait_that_is_not_one_is_refused() -> None:
    with pytest.raises(TypeError, match="bocks"):
        define_op("Misspelled", "x: T -> y: T", T={tf.float32}, bocks=True)(lambda x: x.dims)
    assert "Misspelled" not in all_ops()


#: Nodes of which every graph is made: a value, a hole for one, a copy, and nothing.
EVERYWHERE = frozenset({"Const", "Placeholder", "Identity", "NoOp"})
#: What other files of the engine say of ops by their types, and why no trait says it. This may only
#: get shorter.
BY_TYPE = {
    # The normalizations that a tool folds, and what their nodes are called in files.
    "python/tools/graph_transforms.py": "Conv2D DepthwiseConv2dNative MatMul Mul NextIteration",
    "python/tools/optimize_for_inference_lib.py": "BatchNormWithGlobalNormalization BiasAdd Conv2D DepthwiseConv2dNative FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3",
    # Functions of gen_array_ops and gen_math_ops have other words for some inputs.
    "python/op_functions.py": "ExpandDims Select Where",
    # Tensors in a list become of one dtype.
    "graph/conversion.py": "Cast",
    # Variables of eager code have names of their own.
    "graph/eager.py": "VarHandleOp",
    # The code generator writes these itself, each in its own way, and others as kernels' calls.
    "runtime/codegen.py": "ControlTrigger EmptyTensorList IdentityN TensorListPopBack TensorListPushBack "
    "TensorListReserve",
    # How an input's buffer is handed over, for each kernel that can take one.
    "runtime/buffers.py": "AddN BiasAdd ReluGrad _Fused",
    # Nodes that rewrites and the placer make: errors and lifetimes are told of what they stand for.
    "runtime/run_errors.py": "CheckNumerics _UpdateAll",
    "runtime/cuda_graph.py": "_CopyToDevice _CopyToHost",
    "runtime/capture_split.py": "_CopyToDevice _CopyToHost",
    # An assignment of another shape, by the attribute that only this op has.
    "runtime/read_order.py": "Assign",
    # A view that each round of a loop would read across memory is copied before it; lists' last elements come first.
    "runtime/control_structure.py": "TensorListPopBack Transpose",
    # Products, which take longer than their results have elements.
    "runtime/segment_writer.py": "MatMul _MatMulSum _PackedProduct",
    # `for i in tf.range(n)` counts, and makes no vector of the numbers.
    "autograph/loops.py": "Range",
    "python/autograph_utils.py": "Range",
    # `tf.get_session_handle` keeps what this op is given.
    "runtime/base_session.py": "GetSessionHandle",
    # The nodes of a file, before their ops are looked up.
    "graph/import_graph.py": "Merge NextIteration RefMerge RefNextIteration",
    # Nodes of a GraphDef, which need not be of this graph.
    "graph_util.py": "Cast CheckNumerics DynamicStitch GatherV2 ParallelDynamicStitch ReadVariableOp "
    "ResourceGather Shape VarHandleOp VariableShape",
    # TensorFlow's own list, which a caller may replace by another list of op types.
    "train/device_setter.py": "MutableHashTableOfTensorsV2 MutableHashTableV2 VarHandleOp Variable "
    "VariableV2",
    # Nodes that are built, from files that cannot import the ops.
    # What acts and keeps nothing: a dataset that does so gives the same elements again.
    "train/iterator_checkpoints.py": "Assert CheckNumerics MakeIterator Print PrintV2",
    "train/save_graph.py": "Assign Reshape RestoreV2 SaveV2",
    # Tables of patterns: the ops that a rule, or a rule of shapes, is about.
    "rewrites/broadcasting.py": "AddN BroadcastTo Fill Reshape Shape Size",
    "introspect/offers.py": "Add AddV2 Exp Log Softmax Sub Sum",
    "rewrites/sparse_lookups.py": "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentSqrtN "
    "SparseSegmentSqrtNGrad SparseSegmentSum SparseSegmentSumGrad UnsortedSegmentSum",
    # What rewrites make, and what is then added to.
    "rewrites/common_subexpressions.py": "_RoundsSum",
    "rewrites/fusion.py": "Mean Sum",
    # Its result has its input's shape, as that of all that is computed element by element.
    "rewrites/working_graph.py": "Cast",
    "rewrites/row_fusion.py": "Mean StopGradient Sum",
    "rewrites/loop_shapes.py": "TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3",
    "rewrites/loop_accumulator_sinking.py": "Add AddV2",
    # What a picture of a learner's graph shows beside the model: initial values, files, settings.
    "introspect/node_links.py": "Assign PlaceholderWithDefault ReadVariableOp Reshape Shape",
    "introspect/node_roles.py": "Assign IdentityN MakeIterator",
    "linear_operators/operator_properties.py": "ReadVariableOp",  # whose value a parameter is
    "rewrites/symbolic_shapes.py": "Add AddV2 FusedBatchNormGradV3 FusedBatchNormV3 Maximum Minimum Mul RealDiv "
    "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits Sub",
}
#: Words that are names of ops and of something else: the kind of an attribute, a Python function.
OTHER_WORDS = {
    "python/state_parts.py": "Variable",
    # A class of TensorFlow 2.
    "python/variable_classes.py": "Variable",
    "graph/attr_kinds.py": "Shape",
    "graph/op_def_fields.py": "Shape",
    "graph/op_signature.py": "Shape",
    "graph/serialize.py": "Shape",
    # A class of datasets.
    "python/dataset_names.py": "FixedLengthRecordDatasetV2",
    # A function of protobuf's text_format.
    "shim/old_protos.py": "Merge",
    # Names of TensorFlow Probability.
    "shim/probability/bijectors.py": "Expm1 Reciprocal",
    "shim/probability/distributions.py": "TruncatedNormal",
    # Layers of Keras.
    "python/keras1_arguments.py": "Conv2D Conv3D",
    "shim/old_keras.py": "Add Maximum",
    # ... and the question whether a tensor is a placeholder.
    "python/keras_package.py": "Conv2D PlaceholderWithDefault",
    # The name of a variable that was given none.
    "distribute/strategy.py": "Variable",
    "python/metric_parts.py": "Variable",
}
#: Parts of the package that build graphs, or look at those of learners; they decide nothing.
BUILDERS = (
    *("course", "keras", "layers", "data", "lazy_names.py", "raw_ops.py", "estimator", "contrib"),
    "distributions",
)


def _named_types(path: Path, patterns_too: bool) -> set[str]:
    """Op types that a file names; without those of patterns, inside of functions and decorators."""
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    found = set()
    while todo:
        node = todo.pop()
        if not patterns_too and isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        todo.extend(ast.iter_child_nodes(node))
    return found & set(all_ops())


def test_the_engine_knows_ops_by_their_traits() -> None:
    root = Path(dataflow.__file__).parent
    named = {}
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root)
        if file.parts[0] not in ("ops", "kernels", *BUILDERS):
            # A rewrite is about the very ops that its pattern names.
            types = _named_types(path, patterns_too=file.parts[0] != "rewrites") - EVERYWHERE
            if types:
                named[file.as_posix()] = " ".join(sorted(types))
    assert named == {**BY_TYPE, **OTHER_WORDS}, "declare a trait of the op instead"
