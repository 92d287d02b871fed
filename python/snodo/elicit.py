"""Ask the user: a form to fill in, or a page to open."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._answer import InputRequest
from ._definition import Site
from ._encode import EncodeError, to_json

if TYPE_CHECKING:
    from types import FrameType

    from ._form import Form

__all__ = ["form", "url"]

T = TypeVar("T")

# Forms are made of their fields once, so that asking from within a loop costs little.
_FORMS: dict[Any, Form] = {}
_MOST_FORMS = 512


@overload
def form(message: str, fields: type[T]) -> InputRequest[T]: ...
@overload
def form(message: str, fields: None) -> InputRequest[None]: ...
@overload
def form(message: str, fields: Mapping[str, Any]) -> InputRequest[dict[str, Any]]: ...
@overload
def form(message: str, fields: Any) -> InputRequest[Any]: ...
def form(message: str, fields: Any) -> InputRequest[Any]:
    """Ask the user to fill in a form. Never ask for secrets this way; use `url`.

    A form is flat. A field is a str (``Arg(min_length=, max_length=, format=)``), an int or float
    (``ge=``, ``le=``), a bool, a date or datetime, a Literal or Enum of strings, or a list of such
    a choice; ``| None`` and defaults make it optional.

    Args:
        message: What the user is told.
        fields: A dataclass, TypedDict, NamedTuple, attrs, pydantic or msgspec class, which the
            answer's value will be of; a dict of names and hints, for a dict; the hint of a single
            value (``bool``, ``Literal["a", "b"]``), for that value; the ``requestedSchema``
            itself, as a dict with ``"type": "object"`` and ``"properties"``, for a dict; or None,
            for a yes or no without fields, whose value is None.

    Raises:
        DeclarationError: If a field does not fit a form; it names the field.
        ValueError: If an explicit schema is none a form may have.
        TypeError: If ``message`` is not a string.
    """
    params: dict[str, Any] = {"mode": "form", "message": _text(message)}
    if isinstance(fields, Mapping) and _is_schema(fields):
        try:
            params["requestedSchema"] = to_json(dict(fields), strict=True)
        except EncodeError as error:
            raise ValueError(f"Invalid elicitation request: {error}") from None
        return InputRequest("elicitation/create", params, _content)
    made = _form(fields, sys._getframe(1))
    params["requestedSchema"] = made.requested_schema()
    return InputRequest(
        "elicitation/create", params, lambda response: made.read(_content(response)), check=False
    )


def url(message: str, url: str) -> InputRequest[None]:
    """Ask the user to open a page, for what no form may ask: secrets, payment, signing in.

    Accepting says that the user agreed to open it. Whether what happens there is done, and by the
    same user, is for the server to find out. The client must have declared ``elicitation.url``.

    Args:
        message: What the user is told.
        url: An absolute http or https URL, without user information.

    Raises:
        ValueError: If the URL is anything else.
        TypeError: If ``message`` or ``url`` is not a string.
    """
    params = {"mode": "url", "message": _text(message), "url": _text(url, "url")}
    return InputRequest("elicitation/create", params, lambda response: None)


def _text(value: Any, part: str = "message") -> str:
    if not isinstance(value, str):
        raise TypeError(f"{part} must be a string, not {type(value).__name__}")
    value.encode()  # a lone surrogate is refused here, where it was given
    return str.__str__(value)


def _is_schema(fields: Mapping[str, Any]) -> bool:
    return fields.get("type") == "object" and isinstance(fields.get("properties"), Mapping)


def _content(response: dict[str, Any]) -> dict[str, Any]:
    # What was left empty is absent for some clients and null for others.
    content: dict[str, Any] = response.get("content", {})
    return {name: value for name, value in content.items() if value is not None}


def _form(fields: Any, frame: FrameType) -> Form:
    key: Any
    try:
        # Literals are equal whatever their order; their text is not.
        key = (tuple(fields.items()) if isinstance(fields, Mapping) else fields, _order(fields))
        made = _FORMS.get(key)
    except TypeError:  # something in it cannot be hashed
        key = made = None
    if made is not None:
        return made
    from ._callable import location
    from ._form import form_of

    made = form_of(fields, _local_types(frame), Site(location(None, frame), "form"))
    if key is not None:
        if len(_FORMS) >= _MOST_FORMS:  # classes made anew for each call
            _FORMS.clear()
        _FORMS[key] = made
    return made


def _local_types(frame: FrameType) -> dict[str, Any]:
    """Give the types that a function defines for itself, and nothing that a form must not keep."""
    if frame.f_locals is frame.f_globals:
        return {}
    return {
        name: value
        for name, value in frame.f_locals.items()
        if isinstance(value, type) or type(value).__name__ == "TypeAliasType"
    }


def _order(fields: Any) -> str:
    return "" if isinstance(fields, type) else repr(fields)
