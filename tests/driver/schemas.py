"""Which definition of the official schemas a server's message has to meet, and whether it does."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

Message = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "schemas"

# Newest first.
REVISIONS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NEWEST = REVISIONS[0]
HANDSHAKE = REVISIONS[1:]

# Results by the request's method. A method that a revision does not have has no result in it.
RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
}
OF_THE_HANDSHAKE = {
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
}
OF_THE_NEWEST = {"server/discover", "subscriptions/listen"}
MAY_ASK = {"tools/call", "resources/read", "prompts/get"}

# Errors whose data is told, by code.
ERRORS = {
    (NEWEST, -32020): "HeaderMismatchError",
    (NEWEST, -32021): "MissingRequiredClientCapabilityError",
    (NEWEST, -32022): "UnsupportedProtocolVersionError",
    ("2025-11-25", -32042): "URLElicitationRequiredError",
}

# What the extensions of the tests add: nobody publishes schemas of it.
EXTENDED_METHODS = ("jobs/", "stocktaking/")
EXTENDED_RESULTS = {"tools/call": ("job",)}
EXTENDED_NOTIFICATIONS = "notifications/jobs"

# Members that the open objects of a revision would let pass, although it does not have them.
FOREIGN_RESULT = ("resultType", "ttlMs", "cacheScope", "inputRequests", "requestState")
FOREIGN = {
    "2025-06-18": ("icons",),
    "2025-03-26": ("icons", "title", "outputSchema", "structuredContent"),
    "2024-11-05": ("icons", "title", "outputSchema", "structuredContent"),
}

ANY = {"type": ["object", "array", "string", "number", "boolean", "null"]}
NUMBER = {"type": "number"}


def widen(definitions: dict[str, Any]) -> None:
    """Puts right where a generated schema is narrower than the TypeScript it is generated from,
    which is what the protocol says. This is all that is not taken as it is published.
    """
    # `number` became `integer`: the bounds and the default of a number may be fractions.
    numbers = definitions.get("NumberSchema", {}).get("properties", {})
    for name in ("default", "minimum", "maximum"):
        if name in numbers:
            numbers[name] = NUMBER
    # The same in what a user fills in, which also lost its fractions.
    content = definitions.get("ElicitResult", {}).get("properties", {}).get("content")
    if content:
        for kind in content["additionalProperties"].get("anyOf", []):
            if "integer" in kind.get("type", []):
                kind["type"] = [*kind["type"], "number"]
    # `null` and fractions are JSON too.
    if "JSONValue" in definitions:
        definitions["JSONValue"] = ANY
    # An error that answers what could not be read names no request. Until 2025-06-18 the types had
    # no way to say it; that of the next revision has, in the same words.
    if "JSONRPCError" in definitions:
        definitions["JSONRPCError"]["required"].remove("id")


@cache
def definitions(revision: str) -> dict[str, Any]:
    schema = json.loads((FOLDER / f"{revision}.json").read_bytes())
    found: dict[str, Any] = schema.get("$defs") or schema["definitions"]
    widen(found)
    return found


@cache
def validator(revision: str, definition: str) -> Any:
    known = definitions(revision)
    if revision in ("2026-07-28", "2025-11-25"):
        where, draft = "$defs", "https://json-schema.org/draft/2020-12/schema"
    else:
        where, draft = "definitions", "http://json-schema.org/draft-07/schema#"
    schema = {"$schema": draft, "$ref": f"#/{where}/{definition}", where: known}
    return jsonschema_rs.validator_for(schema, validate_formats=True)


@cache
def by_method(revision: str, union: str) -> dict[str, str]:
    """The definitions of a union of requests or notifications, by their method."""
    known = definitions(revision)
    names = [each["$ref"].rpartition("/")[2] for each in known[union]["anyOf"]]
    return {known[name]["properties"]["method"]["const"]: name for name in names}


@cache
def named(revision: str, *names: str) -> str:
    """The first of these names that the revision has."""
    return next(name for name in names if name in definitions(revision))


def faults(revision: str, message: Any, method: str | None) -> list[str]:
    """What is wrong with a message that a server said in this revision; `method` is that of the
    request it answers, where it answers one.
    """
    if isinstance(message, list):
        if revision != "2025-03-26" or not message:
            return ["a batch, which the revision does not have"]
        return [fault for each in message for fault in faults(revision, each, method)]
    if not isinstance(message, dict):
        return ["no message"]
    if "method" in message:
        return said(revision, message)
    if "error" in message:
        return refused(revision, message)
    return answered(revision, message, method)


def said(revision: str, message: Message) -> list[str]:
    is_request = "id" in message
    if is_request and revision == NEWEST:
        return ["a request of the server, which the revision does not have"]
    union = by_method(revision, "ServerRequest" if is_request else "ServerNotification")
    name = union.get(message["method"])
    if revision == NEWEST and str(message["method"]).startswith(EXTENDED_NOTIFICATIONS):
        return check(revision, "JSONRPCNotification", message)
    if name is None:
        return [f"{message['method']} is nothing that a server says in this revision"]
    envelope = "JSONRPCRequest" if is_request else "JSONRPCNotification"
    return check(revision, envelope, message) + check(revision, name, message)


def refused(revision: str, message: Message) -> list[str]:
    name = named(revision, "JSONRPCErrorResponse", "JSONRPCError")
    found = check(revision, name, message)
    code = message["error"].get("code") if isinstance(message["error"], dict) else None
    if (revision, code) in ERRORS:
        found += check(revision, ERRORS[revision, code], message)
    if (revision == NEWEST and code in (-32002, -32042)) or (revision != NEWEST and code == -32021):
        found.append(f"{code} is no error of this revision")
    return found


def answered(revision: str, message: Message, method: str | None) -> list[str]:
    if revision == NEWEST and method is not None and method.startswith(EXTENDED_METHODS):
        # Sent as it was given, even without what all results should have.
        return check(revision, "JSONRPCResultResponse", {**message, "result": {"resultType": "x"}})
    name = named(revision, "JSONRPCResultResponse", "JSONRPCResponse")
    found = check(revision, name, message)
    result = message.get("result")
    if not isinstance(result, dict):
        return [*found, "a result must be an object"]
    if method is None:
        return [*found, "a result of nothing that was asked"]
    foreign = OF_THE_HANDSHAKE if revision == NEWEST else OF_THE_NEWEST
    if method not in RESULTS or method in foreign:
        return [*found, f"a result of {method}, which the revision does not have"]
    if revision == NEWEST:
        return found + complete(result, method)
    found += check(revision, RESULTS[method], result)
    for key in FOREIGN_RESULT:
        if key in result:
            found.append(f"{key} is no member of a result of this revision")
    entries = [entry for each in result.values() if isinstance(each, list) for entry in each]
    for part in [result, *entries]:
        for key in FOREIGN.get(revision, ()):
            if isinstance(part, dict) and key in part:
                found.append(f"{key} is not known in this revision")
    return found


def complete(result: Message, method: str) -> list[str]:
    """The definition is chosen by `resultType`: the published unions let a result without its
    required members pass as one that asks for input.
    """
    match result.get("resultType"):
        case "complete":
            return check(NEWEST, RESULTS[method], result)
        case "input_required" if method in MAY_ASK:
            found = check(NEWEST, "InputRequiredResult", result)
            for key, request in result.get("inputRequests", {}).items():
                names = by_method(NEWEST, "InputRequest")
                name = names.get(request.get("method"))
                found += check(NEWEST, name, request) if name else [f"{key} asks for nothing known"]
            return found
        case own if own in EXTENDED_RESULTS.get(method, ()):
            return check(NEWEST, "Result", result)
        case other:
            return [f"resultType {other!r} of {method}"]


def check(revision: str, definition: str, value: Any) -> list[str]:
    checker = validator(revision, definition)
    if checker.is_valid(value):
        return []
    found = []
    for error in list(checker.iter_errors(value))[:5]:
        where = "/".join(map(str, error.instance_path)) or "the root"
        found.append(f"{definition} at {where}: {error.message[:300]}")
    return found
