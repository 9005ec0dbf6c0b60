"""Signatures of exports, signatures of tensors, and what `ModelFnOps` checks."""

import os

import pytest

import dataflow as tf
from dataflow.contrib.learn import export_signatures, tensor_signature
from dataflow.contrib.learn.keys import ProblemType

learn = tf.contrib.learn


pytestmark = pytest.mark.usefixtures("graph")


def outputs_of(problem, tensors, inputs=None):
    inputs = inputs or {"x": tf.placeholder(tf.string, [None])}
    made = export_signatures.build_standardized_signature_def(inputs, tensors, problem)
    return made.method_name, set(made.outputs)


def test_signatures_of_problems():
    scores, names = tf.constant([[0.5]]), tf.constant([["a"]])
    classify, predict = "tensorflow/serving/classify", "tensorflow/serving/predict"
    kind = ProblemType.CLASSIFICATION
    assert outputs_of(ProblemType.LINEAR_REGRESSION, {"any": scores}) == (
        "tensorflow/serving/regress",
        {"outputs"},
    )
    both = {"classes": names, "probabilities": scores, "logits": scores}
    assert outputs_of(kind, both) == (classify, {"classes", "scores"})
    numbers = both | {"classes": tf.constant([1])}
    assert outputs_of(kind, numbers) == (classify, {"scores"})
    assert outputs_of(kind, {"logits": scores, "classes": numbers["classes"]}) == (
        predict,
        {"logits", "classes"},
    )
    two = {"x": tf.placeholder(tf.string), "y": tf.placeholder(tf.string)}
    assert outputs_of(kind, both, two)[0] == predict
    with pytest.raises(ValueError, match="must be provided"):
        outputs_of(kind, {})


def test_alternatives():
    loss = tf.constant(1.0)
    heads = {
        "a": (ProblemType.LINEAR_REGRESSION, {"scores": loss}),
        "b": (ProblemType.UNSPECIFIED, {"scores": loss}),
    }
    ops = learn.ModelFnOps(learn.ModeKeys.INFER, {"p": loss}, output_alternatives=heads)
    found, default = export_signatures.get_output_alternatives(ops, "a")
    assert found is heads and default == "a"
    with pytest.raises(ValueError, match="Please specify a default_output_alternative"):
        export_signatures.get_output_alternatives(ops)
    with pytest.raises(ValueError, match="Requested default_output_alternative: c"):
        export_signatures.get_output_alternatives(ops, "c")
    plain = learn.ModelFnOps(learn.ModeKeys.INFER, loss)
    found, default = export_signatures.get_output_alternatives(plain)
    assert found == {default: (ProblemType.UNSPECIFIED, {"output": loss})}
    inputs, features = export_signatures.get_input_alternatives(
        learn.InputFnOps({"f": loss}, None, {"x": loss})
    )
    assert features == {"f": loss}
    signatures = export_signatures.build_all_signature_defs(inputs, heads, "a")
    assert set(signatures) == {
        "serving_default",
        "default_input_alternative:a",
        "default_input_alternative:b",
    }
    with pytest.raises(ValueError, match="default input_alternative must be provided"):
        inputs, _ = export_signatures.get_input_alternatives(({"f": loss}, None))
        export_signatures.build_all_signature_defs(inputs, heads, "a")


def test_folders_of_exports(tmp_path):
    assert export_signatures.get_most_recent_export(str(tmp_path / "none")) is None
    for stamp in ("1000000001", "1000000003", "other"):
        (tmp_path / stamp).mkdir()
    newest = export_signatures.get_most_recent_export(str(tmp_path))
    assert newest == (str(tmp_path / "1000000003"), 1000000003)
    folder = export_signatures.get_timestamped_export_dir(str(tmp_path))
    assert os.path.dirname(folder) == str(tmp_path) and len(os.path.basename(folder)) == 10
    strategy = export_signatures.make_parsing_export_strategy(
        [tf.contrib.layers.real_valued_column("x")]
    )
    assert isinstance(strategy, learn.ExportStrategy)


def test_signatures_of_tensors():
    rows = tf.placeholder(tf.int32, [None, 3])
    signature = tensor_signature.create_signatures({"a": rows})
    compatible = tensor_signature.tensors_compatible
    assert compatible({"a": tf.zeros([5, 3], tf.int32), "b": rows}, signature)
    assert not compatible({"a": tf.zeros([5, 3])}, signature)
    assert not compatible({"a": tf.zeros([5, 4], tf.int32)}, signature)
    assert not compatible(rows, signature) and not compatible(None, signature)
    made = tensor_signature.create_placeholders_from_signatures(signature)["a"]
    assert made.dtype is tf.int32 and made.shape.as_list() == [None, 3]
    sparse = tf.SparseTensor([[0, 1]], [2.0], [3, 4])
    signature = tensor_signature.create_signatures(sparse)
    assert signature.is_sparse and compatible(sparse, signature)
    assert isinstance(signature.get_placeholder(), tf.SparseTensor)
    example = tf.train.Example()
    example.features.feature["feature"].int64_list.value.extend([1, 2, 3])
    parsed = tensor_signature.create_example_parser_from_signatures(
        tensor_signature.TensorSignature(rows), [example.SerializeToString()]
    )
    assert parsed.dtype is tf.int32
    with tf.Session() as sess:
        assert sess.run(parsed).tolist() == [[1, 2, 3]]
    unknown = tensor_signature.TensorSignature(tf.placeholder(tf.string))
    with pytest.raises(ValueError, match="must be known"):
        unknown.get_feature_spec()


def test_model_functions_are_checked():
    loss = tf.constant([1.0])
    ops = learn.ModelFnOps(learn.ModeKeys.EVAL, loss=loss)
    assert ops.loss.shape.ndims == 0
    for mode, given, says in (
        (learn.ModeKeys.TRAIN, {"loss": loss}, "Missing training_op"),
        (learn.ModeKeys.EVAL, {}, "Missing loss"),
        (learn.ModeKeys.INFER, {}, "Missing predictions"),
    ):
        with pytest.raises(ValueError, match=says):
            learn.ModelFnOps(mode, **given)
