"""`tf.contrib.predictor`: a function from arrays to predictions, out of a SavedModel or an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.estimator.estimator import Estimator
from dataflow.estimator.model_fn import ModeKeys
from dataflow.graph.graph import Graph
from dataflow.namespaces import explain_absent
from dataflow.runtime.session import Session
from dataflow.saved_model import loader, signature_constants, tag_constants
from dataflow.train.monitored_session import MonitoredSession
from dataflow.train.scaffold import ChiefSessionCreator

__all__ = ["Predictor", "from_estimator", "from_saved_model"]

DEFAULT_KEY = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Predictor:
    """Called with a dict of arrays by the keys of a signature's inputs, gives one of its outputs.

    ``feed_tensors`` and ``fetch_tensors``: the tensors behind the keys; ``graph`` and ``session``: where they run.
    """

    def __init__(self, session: Any, feed_tensors: dict[str, Any], fetch_tensors: Any) -> None:
        self.session = session
        self.graph = session.graph
        self.feed_tensors = feed_tensors
        self.fetch_tensors = fetch_tensors

    def __call__(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """The outputs for these inputs; raises `ValueError` for keys that the signature does not have."""
        unknown = sorted(set(input_dict) - set(self.feed_tensors))
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}; expected: {sorted(self.feed_tensors)}"
            )
        feed = {self.feed_tensors[key]: value for key, value in input_dict.items()}
        return self.session.run(self.fetch_tensors, feed)  # type: ignore[no-any-return]


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: dict[str, str] | None = None,
    output_names: dict[str, str] | None = None,
    tags: Any = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """A `Predictor` of the SavedModel in ``export_dir``.

    Inputs and outputs are those of the signature ``signature_def_key`` ("serving_default" where none is given), of
    ``signature_def``, or tensors named in ``input_names`` and ``output_names`` (key -> name). ``tags``: those of the
    meta graph, "serve" where None is given; a text of several has commas. Raises `ValueError` for a signature that is not there.
    """
    if isinstance(tags, str):
        tags = tags.split(",")
    graph = graph or Graph()
    with graph.as_default():
        session = Session(graph=graph, config=config)
        meta = loader.load(session, tags or [tag_constants.SERVING], export_dir)
    if input_names is None or output_names is None:
        if signature_def is None:
            key = signature_def_key or DEFAULT_KEY
            if key not in meta.signature_def:
                raise ValueError(
                    f"Got signature_def_key {key!r}. Available signatures are "
                    f"{sorted(meta.signature_def)}."
                )
            signature_def = meta.signature_def[key]
        input_names = {k: info.name for k, info in signature_def.inputs.items()}
        output_names = {k: info.name for k, info in signature_def.outputs.items()}
    feeds, fetches = (
        {key: graph.get_tensor_by_name(name) for key, name in names.items()}
        for names in (input_names, output_names)
    )
    return Predictor(session, feeds, fetches)


def from_estimator(
    estimator: Estimator,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """A `Predictor` of a trained estimator, with the weights of its latest checkpoint.

    Inputs are the receiver tensors of ``serving_input_receiver_fn``, outputs those of the export
    output ``output_key`` ("serving_default" where none is given). Raises `KeyError` for another one.
    """
    key = output_key or DEFAULT_KEY
    graph = graph or Graph()
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        outputs = dict(spec.export_outputs or {})
        if len(outputs) == 1:
            outputs.setdefault(DEFAULT_KEY, next(iter(outputs.values())))
        if key not in outputs:
            raise KeyError(f"output_key must be one of {list(outputs)}; got {key}")
        creator = ChiefSessionCreator(config=config, checkpoint_dir=estimator.model_dir)
        session = MonitoredSession(session_creator=creator)
    signature = outputs[key].as_signature_def(receiver.receiver_tensors)
    feeds, fetches = (
        {name: graph.get_tensor_by_name(info.name) for name, info in infos.items()}
        for infos in (signature.inputs, signature.outputs)
    )
    return Predictor(session, feeds, fetches)


__getattr__ = explain_absent(__name__)
