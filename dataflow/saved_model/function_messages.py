"""Functions as a SavedModel of objects holds them: definitions in the graph's library, and their signatures."""

from __future__ import annotations

import inspect
from collections import namedtuple
from typing import Any

from dataflow import logging
from dataflow.data.structure import Structure
from dataflow.functions.concrete import ConcreteFunction
from dataflow.functions.traced import Function
from dataflow.graph.nest import map_structure
from dataflow.graph.operation import Operation
from dataflow.ops.type_specs import TensorSpec
from dataflow.saved_model.assets import TrackableAsset
from dataflow.saved_model.object_view import ObjectView
from dataflow.saved_model.structures import NotEncodableError, StructureCoder

FullArgSpec = namedtuple(
    "FullArgSpec", "args varargs varkw defaults kwonlyargs kwonlydefaults annotations"
)


class FunctionWriter:
    """Writes the functions of a view into a graph's ``library`` and into an object graph."""

    def __init__(self, view: ObjectView, objects: Any, library: Any) -> None:
        self._view, self._objects, self._library = view, objects, library
        self._coder = StructureCoder()
        #: By id each function, which is kept, and its name in the library; None where its signature has no message.
        self._names: dict[int, tuple[ConcreteFunction, str | None]] = {}
        #: What each function takes after its arguments, as numbers of objects.
        self.bound: dict[str, list[int]] = {}
        self._assets = {id(a.asset_path): a for _, a in view.of_kind(TrackableAsset)}
        self._numbers = _numbers_of_values(view)

    def write(self, proto: Any, value: Any) -> None:
        """Writes the object of a function, and all that was traced of it."""
        if isinstance(value, ConcreteFunction):
            name = self.add(value)
            if name is None:
                raise ValueError(
                    f"tf.saved_model.save: the arguments or results of {value.name}() are objects that no SavedModel "
                    "holds; give it tensors, and Python's own numbers and texts."
                )
            bare = proto.bare_concrete_function
            bare.concrete_function_name = name
            bare.argument_keywords.extend(value.argument_names)
            bare.allowed_positional_arguments = (
                0 if value.takes_names_only else len(value.argument_names)
            )
            return
        proto.function.SetInParent()
        names = [self.add(made) for made in value.traced_functions()]
        proto.function.concrete_functions.extend(sorted({n for n in names if n is not None}))
        self._write_spec(proto.function.function_spec, value)

    def _write_spec(self, proto: Any, function: Function) -> None:
        spec = getattr(function, "saved_argument_spec", None) or _argument_spec(function)
        try:
            proto.fullargspec.CopyFrom(self._coder.encode_structure(spec))
        except NotEncodableError:  # default values of a program's own classes
            spec = spec._replace(defaults=None, kwonlydefaults=None)
            proto.fullargspec.CopyFrom(self._coder.encode_structure(spec))
        proto.input_signature.CopyFrom(self._coder.encode_structure(function.input_signature))

    def add(self, function: ConcreteFunction) -> str | None:
        """Adds a traced function to the library, once; its name there, None where its signature cannot be written."""
        if id(function) not in self._names:
            self._names[id(function)] = function, self._added(function)
        return self._names[id(function)][1]

    def _added(self, function: ConcreteFunction) -> str | None:
        name = f"__inference_{function.name}_{len(self._names)}"
        try:
            given = self._coder.encode_structure(function.structured_input_signature)
            returned = self._coder.encode_structure(_specs_of_results(function))
        except NotEncodableError as error:
            logging.warning(f"tf.saved_model.save leaves out a trace of {function.name}(): {error}")
            return None
        used = [v for v in function.captured_inputs if id(v) in self._assets]
        definition = function.definition(name, used)
        known = {f.signature.name for f in self._library.function}
        self._library.function.append(definition.proto)
        self._library.function.extend(f for f in definition.others if f.signature.name not in known)
        self.bound[name] = [self._number(value, function) for value in definition.bound]
        proto = self._objects.concrete_functions[name]
        proto.bound_inputs.extend(self.bound[name])
        proto.canonicalized_input_signature.CopyFrom(given)
        proto.output_signature.CopyFrom(returned)
        return name

    def _number(self, value: Any, function: ConcreteFunction) -> int:
        found = self._numbers.get(id(value))
        if found is None:
            variable = getattr(value, "variable", None)
            what = (variable() if variable is not None else None) or value
            raise AssertionError(
                f"Tried to export a function which references untracked object {what!r}. TensorFlow objects (e.g. "
                "tf.Variable) captured by functions must be tracked by assigning them to an attribute of a tracked "
                f"object or assigned to an attribute of the main object directly. The function is {function.name}()."
            )
        return found


def _numbers_of_values(view: ObjectView) -> dict[int, int]:
    """The number of the object that a resource, or the path of a file, belongs to, by the tensor's id."""
    found = {}
    for number, value in enumerate(view.nodes):
        if isinstance(value, TrackableAsset):
            found[id(value.asset_path)] = number
        elif hasattr(value, "resource_handle"):
            found[id(value.resource_handle)] = number
        elif hasattr(value, "handle") and not isinstance(value, (Function, ConcreteFunction)):
            found[id(value.handle)] = number
    return found


def _specs_of_results(function: ConcreteFunction) -> Any:
    results = function.structured_outputs

    def spec(leaf: Any) -> Any:
        if leaf is None or isinstance(leaf, Operation):
            return None
        return Structure.of(leaf).nested_specs

    made = map_structure(spec, results)
    if isinstance(made, dict):
        return {
            key: TensorSpec(s.shape, s.dtype, key) if type(s) is TensorSpec else s
            for key, s in made.items()
        }
    return made


def _argument_spec(function: Function) -> FullArgSpec:
    """How the Python function takes its arguments, without ``self``."""
    found = inspect.getfullargspec(inspect.unwrap(function.python_function))
    args = found.args[1:] if inspect.ismethod(function.python_function) else found.args
    return FullArgSpec(
        args,
        found.varargs,
        found.varkw,
        found.defaults,
        found.kwonlyargs,
        found.kwonlydefaults,
        {},
    )
