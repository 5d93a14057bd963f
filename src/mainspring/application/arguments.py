"""A function's arguments: checked when they are submitted, turned to JSON, and back where the function runs.

What an annotation says is checked by pydantic, strictly: whoever submits writes Python and not a form. Everything that
it can write as JSON may be an argument or a result: dates, UUIDs, enums, dataclasses, models.
"""

import inspect
import json
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError

# Left to itself it writes null for NaN and infinities, which JSON has no words for.
_EXACT = ConfigDict(ser_json_inf_nan="constants")
_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any, config=_EXACT)


class WrongArguments(TypeError):
    """The function can't be called like this."""


class Arguments:
    """The arguments and the result of one function."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._signature = inspect.signature(function)
        hints = _hints(function)
        self._adapters = {each: _adapter(hints.get(each, Any)) for each in self._signature.parameters}
        self._result = _adapter(hints.get("return", Any))

    def written(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The payload for a call with these arguments, or WrongArguments with the one that is wrong."""
        self._bind(args, kwargs)
        return {
            "args": [self._json(name, value) for name, value in self._positional(args)],
            "kwargs": {name: self._json(self._parameter_of(name), value) for name, value in kwargs.items()},
        }

    def read(self, payload: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments in a payload, as the function's annotations want them; WrongArguments if they don't fit."""
        args, kwargs = _parts(payload)
        self._bind(args, kwargs)
        positional = [self._check(name, value) for name, value in self._positional(args)]
        named = {name: self._check(self._parameter_of(name), value) for name, value in kwargs.items()}
        return positional, named

    def result_json(self, value: Any) -> Any:
        """What the function returned, as JSON knows it."""
        return self._result.dump_python(value, mode="json", warnings=False)

    def result_from(self, value: Any) -> Any:
        """What the function returned, as its annotation says; what doesn't fit is handed on as it is."""
        try:
            return self._result.validate_python(value)
        except ValidationError:
            return value

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise WrongArguments(f"{self._name}{self._signature}: {error}") from None

    def _check(self, parameter: str, value: Any, *, strict: bool | None = None) -> Any:
        try:
            return self._adapters[parameter].validate_python(value, strict=strict)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, (parameter, *first["loc"])))
            message = first["msg"][0].lower() + first["msg"][1:]
            raise WrongArguments(f"{self._name}: {place}: {message}, not {value!r}") from None

    def _json(self, parameter: str, value: Any) -> Any:
        self._check(parameter, value, strict=True)
        try:
            written = self._adapters[parameter].dump_python(value, mode="json", warnings=False)
            json.dumps(written, allow_nan=False)
        except ValueError as error:
            # Pydantic's own error is one, too.
            raise WrongArguments(f"{self._name}: {parameter}: {value!r} can't be written as JSON ({error})") from None
        return written

    def _positional(self, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """Each positional argument with the parameter that takes it: its own, or the one that collects the others."""
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        parameters = [each.name for each in self._signature.parameters.values() if each.kind not in named]
        for number, value in enumerate(args):
            yield parameters[min(number, len(parameters) - 1)], value

    def _parameter_of(self, name: str) -> str:
        """The parameter that takes the keyword *name*: its own, or the one that collects the others."""
        parameters = self._signature.parameters
        if name in parameters and parameters[name].kind is not inspect.Parameter.VAR_KEYWORD:
            return name
        return next(each.name for each in parameters.values() if each.kind is inspect.Parameter.VAR_KEYWORD)


def _parts(payload: Any) -> tuple[list[Any], dict[str, Any]]:
    if payload is None:
        return [], {}
    if not isinstance(payload, dict) or not payload.keys() <= {"args", "kwargs"}:
        raise WrongArguments(f'the payload of a task is {{"args": […], "kwargs": {{…}}}}, not {payload!r}')
    args, kwargs = payload.get("args", []), payload.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise WrongArguments("the args of a task's payload are an array, its kwargs an object")
    return args, kwargs


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - an annotation that can't be evaluated here checks nothing
        return {}


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=_EXACT)
    except PydanticUserError as error:
        # Models and dataclasses have a configuration of their own.
        return TypeAdapter(hint) if error.code == "type-adapter-config-unused" else _ANYTHING
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation):
        return _ANYTHING
