"""Extensions as plain records of who is called for what, read once when a server is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import Parameter, isasyncgenfunction, iscoroutinefunction
from typing import TYPE_CHECKING, Any, NamedTuple

from ._callable import global_names, innermost, local_names, parameters, runner
from ._definition import dumps
from ._encode import EncodeError, to_json
from ._misspelt import misspelt
from .errors import ConfigurationError, Error
from .extension import MARK, Extension, Method, Operation

if TYPE_CHECKING:
    from ._snodo import CallNext, Context

    Convert = Callable[[Any], Any]


class Callback(NamedTuple):
    """Who is called."""

    function: Callable[..., Any]
    is_async: bool


class MethodSpec(NamedTuple):
    """A method, and who answers it."""

    name: str
    function: Callable[..., Any]
    is_async: bool
    header: tuple[str, str] | None
    schema: bytes | None
    """What the parameters are held to."""


class ExtensionSpec(NamedTuple):
    """All that is known about an extension before the first request."""

    id: str
    versions: list[str]
    settings: bytes
    advertised: bool
    methods: list[MethodSpec]
    negotiate: Callback | None
    missing: tuple[int, str, bytes | None] | None
    around: Callback | None
    operations: list[str] | None
    result_types: list[str]
    filter_keys: list[str]
    subscribe: Callback | None
    event: Callback | None
    tells_current: bool


_PARTS = tuple(name for name in vars(Extension) if not name.startswith("_"))


def specs(extensions: Any, protocols: Sequence[str]) -> list[ExtensionSpec]:
    """Read what a `Server` was given.

    Raises:
        ConfigurationError: If one cannot be installed.
    """
    if isinstance(extensions, (str, bytes, Extension)) or not hasattr(extensions, "__iter__"):
        raise ConfigurationError("Server extensions must be a list of Extension objects")
    read = [_spec(extension) for extension in extensions]
    if read:
        from ._snodo import check_extensions

        check_extensions(read, list(protocols))
    return read


def _spec(extension: Any) -> ExtensionSpec:
    if isinstance(extension, type) and issubclass(extension, Extension):
        raise ConfigurationError(
            f"Server extensions has a class: write {extension.__name__}() for an instance"
        )
    if isinstance(extension, str):
        raise ConfigurationError(
            f"Server extensions has {extension!r}, which is not installed: give the Extension"
        )
    if not isinstance(extension, Extension):
        kind = type(extension).__name__
        raise ConfigurationError(f"Server extensions must be Extension objects, not {kind}")
    given: object = extension.id
    if not isinstance(given, str):
        kind = type(extension).__name__
        raise ConfigurationError(f"{kind}.id must be a string, not {type(given).__name__}")
    cls = type(extension)
    marked = [name for name in dir(cls) if hasattr(getattr(cls, name, None), MARK)]
    wrong = misspelt(cls, Extension, _PARTS, marked)
    if wrong is not None:
        member, meant = wrong
        raise _wrong(extension, f"{member} means nothing: did you mean {meant}?")
    keys = _names(extension, "filter_keys")
    _check_pair(extension, bool(keys))
    operations = extension.operations
    if operations is not None and not _overrides(extension, "around"):
        raise _wrong(extension, "operations needs around(), which is around them")
    advertise: object = extension.advertise
    if not isinstance(advertise, bool):
        raise _wrong(extension, "advertise must be a boolean")
    return ExtensionSpec(
        id=extension.id,
        versions=_names(extension, "versions"),
        settings=_settings(extension),
        advertised=advertise,
        methods=_methods(extension),
        negotiate=_negotiation(extension),
        missing=_missing(extension),
        around=_layer(extension),
        operations=None if operations is None else _names(extension, "operations"),
        result_types=_names(extension, "result_types"),
        filter_keys=keys,
        subscribe=_subscription(extension) if keys else None,
        event=_event(extension) if keys else None,
        tells_current=bool(keys) and _overrides(extension, "current"),
    )


def _wrong(extension: Extension, what: str) -> ConfigurationError:
    return ConfigurationError(f"extension {extension.id!r}: {what}")


def _names(extension: Extension, attribute: str) -> list[str]:
    value = getattr(extension, attribute)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong(extension, f"{attribute} must be a list of strings")
    if not all(isinstance(name, str) for name in value):
        raise _wrong(extension, f"{attribute} must be a list of strings")
    return list(value)


def _settings(extension: Extension) -> bytes:
    if not isinstance(extension.settings, Mapping):
        raise _wrong(extension, "settings must be a JSON object")
    try:
        return dumps(to_json(dict(extension.settings)))
    except EncodeError as error:
        raise _wrong(extension, f"settings must be a JSON object: {error}") from None


def _overrides(extension: Extension, name: str) -> bool:
    return getattr(type(extension), name) is not getattr(Extension, name)


def _check_pair(extension: Extension, has_keys: bool) -> None:
    if has_keys and not _overrides(extension, "notification"):
        raise _wrong(extension, "filter_keys needs notification(), which tells of its events")
    if not has_keys:
        for name in ("notification", "subscribe"):
            if _overrides(extension, name):
                raise _wrong(extension, f"{name}() needs filter_keys, by which events are selected")


def _missing(extension: Extension) -> tuple[int, str, bytes | None] | None:
    error: object = extension.missing_capability
    if error is False:
        return None
    if error is True:
        required: dict[str, Any] = {"extensions": {extension.id: {}}}
        text = "Missing required client capability"
        error = Error(-32021, text, {"requiredCapabilities": required})
    if not isinstance(error, Error):
        raise _wrong(extension, "missing_capability must be a boolean or an Error")
    try:
        data = None if error.data is None else dumps(to_json(error.data))
    except EncodeError as refusal:
        raise _wrong(extension, f"the data of missing_capability: {refusal}") from None
    return error.code, error.message, data


def _plain(extension: Extension, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(extension, name)
    if iscoroutinefunction(innermost(function)) or isasyncgenfunction(innermost(function)):
        raise _wrong(extension, f"{name}() must be a plain function: it does not wait")
    return function


def _methods(extension: Extension) -> list[MethodSpec]:
    methods = extension.methods
    if not isinstance(methods, Mapping):
        raise _wrong(extension, "methods must map names to functions")
    validate = _plain(extension, "validate") if _overrides(extension, "validate") else None
    shape = _plain(extension, "shape") if _overrides(extension, "shape") else None
    found = []
    for name, given in methods.items():
        if not isinstance(name, str):
            raise _wrong(extension, "methods must map names to functions")
        method = given if isinstance(given, Method) else Method(given)
        if not callable(method.function):
            raise _wrong(extension, f"method {name!r} must be a function")
        header = method.header
        is_pair = isinstance(header, tuple) and len(header) == 2
        if header is not None and not (is_pair and all(isinstance(one, str) for one in header)):
            raise _wrong(extension, f'method {name!r}: header must be ("Mcp-Name", "parameter")')
        schema, convert = _typed(extension, name, method.function)
        run, is_async = _method(name, method.function, validate, convert, shape)
        found.append(MethodSpec(name, run, is_async, header, schema))
    return found


def _method(
    name: str,
    function: Callable[..., Any],
    validate: Callable[..., Any] | None,
    convert: Convert | None,
    shape: Callable[..., Any] | None,
) -> Callback:
    run, is_async = runner(function)

    def admitted(params: dict[str, Any], context: Context) -> Any:
        if validate is not None:
            _accepted(validate(name, params, context))
        return params if convert is None else convert(params)

    def shaped(value: Any, context: Context) -> Any:
        if shape is None or isinstance(value, Error):
            return value
        return shape(name, value, context)

    if not is_async:
        if validate is None and convert is None and shape is None:
            return Callback(run, False)
        return Callback(
            lambda params, context: shaped(run(admitted(params, context), context), context), False
        )

    async def answered(params: dict[str, Any], context: Context) -> Any:
        return shaped(await run(admitted(params, context), context), context)

    return Callback(answered, True)


def _accepted(verdict: Any) -> None:
    if isinstance(verdict, Error):
        raise verdict
    if verdict is not None:
        raise TypeError("validate() must raise an Error to refuse, and give nothing otherwise")


def _typed(
    extension: Extension, name: str, function: Callable[..., Any]
) -> tuple[bytes | None, Convert | None]:
    """Give the schema that a hint of the parameters comes to, and what makes them that type."""
    from . import _convert, _hints
    from ._schema import SchemaBuilder

    try:
        found = parameters(function)[0]
    except (TypeError, ValueError):
        return None, None
    places = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    given = [one for one in found if one.kind in places]
    if len(given) < 2 and not any(one.kind is Parameter.VAR_POSITIONAL for one in found):
        raise _wrong(extension, f"method {name!r} must take (params, context)")
    if not given or given[0].annotation is Parameter.empty:
        return None, None
    hint, local = given[0].annotation, local_names(function, None)
    try:
        hint = _hints.resolve({"params": hint}, global_names(function), local)["params"]
        structured = _hints.fields_of(hint, local) is not None
        if not (structured or _hints.is_struct(hint) or _hints.is_pydantic(hint)):
            return None, None
        builder = SchemaBuilder(local)
        schema = {"type": "object", **builder.schema(hint, "params")}
    except Exception as error:  # an annotation is code, so anything can come out of it
        text = f"method {name!r}: the hint of its parameters cannot be read: {error}"
        raise _wrong(extension, text) from None
    if schema["type"] != "object":
        raise _wrong(extension, f"method {name!r}: its parameters are an object, so no NamedTuple")
    known = None
    if structured and "properties" in schema:
        # What is not known may be of a later version.
        schema.pop("additionalProperties", None)
        known = frozenset(schema["properties"])
    if builder.definitions:
        schema["$defs"] = {**builder.definitions, **schema.get("$defs", {})}
    convert = _convert.converter(hint, "", local, component=f"extension method {name}")
    return dumps(to_json(schema)), None if convert is None else _refusing(convert, known)


def _refusing(convert: Convert, known: frozenset[str] | None) -> Convert:
    """Give a converter whose refusal is an answer: what the schema cannot say.

    Args:
        convert: What refuses.
        known: The members that it knows; None for a type that sees to others by itself.
    """
    from ._convert import ConversionError

    def converted(params: Any) -> Any:
        try:
            if known is not None:
                params = {name: value for name, value in params.items() if name in known}
            return convert(params)
        except ConversionError as error:
            # There is no name of an argument before the path.
            raise Error.invalid_params(str(error).replace("at //", "at /", 1)) from None

    return converted


def _awaited(function: Callable[..., Any], finish: Callable[[Any], Any]) -> Callback:
    """Give a callback that passes on what ``finish`` makes of the function's value."""
    run, is_async = runner(function)
    if not is_async:
        return Callback(lambda *given: finish(run(*given)), False)

    async def finished(*given: Any) -> Any:
        value: Awaitable[Any] = run(*given)
        return finish(await value)

    return Callback(finished, True)


def _negotiation(extension: Extension) -> Callback | None:
    if not _overrides(extension, "negotiate"):
        return None

    def finish(answer: Any) -> Any:
        if isinstance(answer, Error):
            return answer
        return {} if answer is None else {"settings": answer}

    return _awaited(extension.negotiate, finish)


def _layer(extension: Extension) -> Callback | None:
    if not _overrides(extension, "around"):
        return None
    around = extension.around
    if not iscoroutinefunction(innermost(around)):
        raise _wrong(extension, "around() must be written as `async def`")

    async def layer(context: Context, params: dict[str, Any], call_next: CallNext) -> Any:
        return await around(context, Operation(context.method, params), call_next)

    return Callback(layer, True)


def _subscription(extension: Extension) -> Callback:
    return _awaited(extension.subscribe, lambda accepted: accepted)


def _event(extension: Extension) -> Callback:
    run, is_async = runner(extension.notification)
    ask, asks_async = runner(extension.current)
    if _overrides(extension, "current") and asks_async is not is_async:
        both = "current() and notification() must both be coroutines, or neither"
        raise _wrong(extension, both)

    def finish(said: Any) -> Any:
        if said is None:
            return {}
        if isinstance(said, Error):
            return said
        method, params = said
        return {"method": method, "params": params}

    if is_async:

        async def tell(event: dict[str, Any], context: Context) -> Any:
            selector = event["selector"]
            if "payload" in event:
                payload = event["payload"]
            elif (payload := await ask(selector, context)) is None:
                return {}
            return finish(await run(selector, payload, context))

        return Callback(tell, True)

    def say(event: dict[str, Any], context: Context) -> Any:
        selector = event["selector"]
        if "payload" in event:
            payload = event["payload"]
        elif (payload := ask(selector, context)) is None:
            return {}
        return finish(run(selector, payload, context))

    return Callback(say, False)
