"""What a server offers, told as text, JSON or Markdown, with what its descriptions leave out."""

from __future__ import annotations

import json
from inspect import unwrap
from typing import TYPE_CHECKING, Any

from ._asking import META, ask, list_prompts, list_tools, listed
from ._components import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from .server import Server

JSON = dict[str, Any]

_NARROWED = "Server(authorize=...) narrows this for each caller: all that there is is shown here"


def catalogue(server: Server) -> JSON:
    """Gather everything the server offers, and what its descriptions leave out."""
    about = ask(server, "server/discover")
    offer: JSON = {
        "server": about.get("_meta", {}).get(f"{META}serverInfo", {}),
        "revisions": about["supportedVersions"],
        "capabilities": about["capabilities"],
        **({"instructions": about["instructions"]} if "instructions" in about else {}),
        "tools": list_tools(server),
        "resources": listed(server, "resources/list", "resources"),
        "resourceTemplates": listed(server, "resources/templates/list", "resourceTemplates"),
        "prompts": list_prompts(server),
        **_around(server),
        **({"narrowed": _NARROWED} if server._offering.settings.authorize is not None else {}),
    }
    warnings = _unguarded(server, offer)
    return {**offer, **({"warnings": warnings} if warnings else {}), "gaps": _gaps(offer)}


def _around(server: Server) -> JSON:
    """Give what is around the components, as far as there is any of it."""
    settings, components = server._offering.settings, server._offering.components
    extensions = [
        {"id": one.id, "versions": one.versions, "methods": [method.name for method in one.methods]}
        for one in settings.extensions
    ]
    layers = {"server": [layer.name for layer in settings.middleware]} | {
        f"{kind} {name}": [layer.name for layer in spec.middleware]
        for kind in KINDS
        for name, (_, spec) in sorted(components.table(kind).items())
    }
    access = {}
    if settings.authenticate is not None:
        access["authenticate"] = _called(unwrap(settings.authenticate[0]))
    if settings.authorize is not None:
        hides = ", which conceals what it refuses" if settings.conceal_refusals else ""
        access["authorize"] = f"{settings.authorize[2]}{hides}"
    around = {
        "extensions": extensions,
        "middleware": {of: names for of, names in layers.items() if names},
        "access": access,
    }
    return {part: told for part, told in around.items() if told}


def _called(authenticate: Any) -> str:
    """Say what authenticates; those of `snodo.auth` say it themselves, and show no key."""
    return str(getattr(authenticate, "__name__", None) or repr(authenticate))


def as_text(offer: JSON) -> str:
    """Tell a catalogue to a person at a terminal."""
    lines = [f"{_title(offer)}  (MCP {', '.join(offer['revisions'])})"]
    if offer.get("instructions"):
        lines.append(f"  {offer['instructions']}")
    for title, entries, heading in _sections(offer):
        lines += ["", f"{title} ({len(entries)})"]
        for entry in entries:
            lines.append(f"  {heading(entry)}")
            lines += [f"      {line}" for line in entry.get("description", "").splitlines()]
    extensions = offer.get("extensions", [])
    if extensions:
        lines += ["", f"extensions ({len(extensions)})"]
    for one in extensions:
        lines.append(f"  {one['id']}  (MCP {', '.join(one['versions'])})")
        lines += [f"      {', '.join(one['methods'])}"] if one["methods"] else []
    for title in ("middleware", "access"):
        if title in offer:
            lines += ["", title, *(f"  {of}: {_list(said)}" for of, said in offer[title].items())]
    if "narrowed" in offer:
        lines += ["", offer["narrowed"]]
    if "warnings" in offer:
        lines += ["", f"warnings ({len(offer['warnings'])})"]
        lines += [f"  {warning}" for warning in offer["warnings"]]
    if offer["gaps"]:
        lines += ["", f"gaps ({len(offer['gaps'])})", *(f"  {gap}" for gap in offer["gaps"])]
    return "\n".join(lines)


def _sections(offer: JSON) -> list[tuple[str, list[JSON], Callable[[JSON], str]]]:
    """Give the kinds there are, each with how an entry is headed."""
    sections: list[tuple[str, list[JSON], Callable[[JSON], str]]] = [
        ("tools", offer["tools"], lambda tool: f"{tool['name']}({', '.join(_parameters(tool))})"),
        ("resources", offer["resources"], lambda one: _addressed(one, "uri")),
        ("templates", offer["resourceTemplates"], lambda one: _addressed(one, "uriTemplate")),
        ("prompts", offer["prompts"], lambda one: f"{one['name']}({', '.join(_arguments(one))})"),
    ]
    there = [section for section in sections if section[1]]
    return there or sections[:1]


def _addressed(resource: JSON, member: str) -> str:
    kind = f"  ({resource['mimeType']})" if "mimeType" in resource else ""
    return f"{resource[member]}  {resource['name']}{kind}"


def _arguments(prompt: JSON) -> list[str]:
    return [
        f"{argument['name']}{'' if argument.get('required') else '?'}"
        for argument in prompt.get("arguments", ())
    ]


def as_json(offer: JSON) -> str:
    """Tell a catalogue to a program."""
    return json.dumps(offer, ensure_ascii=False, indent=2)


def as_markdown(offer: JSON) -> str:
    """Tell a catalogue to a reader of documents."""
    lines = [f"# {_title(offer)}", "", f"MCP {', '.join(offer['revisions'])}"]
    if offer.get("instructions"):
        lines += ["", offer["instructions"]]
    for tool in offer["tools"]:
        lines += _entry(tool["name"], tool)
        required = tool["inputSchema"].get("required", [])
        lines += _table(
            ("argument", "type", "required", "description"),
            [
                (f"`{name}`", type_name(schema), _yes(name in required), _described(schema))
                for name, schema in tool["inputSchema"].get("properties", {}).items()
            ],
        )
    for title, member in (("Resources", "uri"), ("Resource templates", "uriTemplate")):
        entries = offer["resources" if member == "uri" else "resourceTemplates"]
        rows: list[tuple[str, ...]] = [
            (f"`{one[member]}`", one["name"], one.get("mimeType", ""), _described(one))
            for one in entries
        ]
        if rows:
            address = "URI" if member == "uri" else "template"
            lines += ["", f"## {title}", *_table((address, "name", "type", "description"), rows)]
    if offer["prompts"]:
        lines += ["", "## Prompts"]
    for prompt in offer["prompts"]:
        lines += _entry(prompt["name"], prompt, "###")
        lines += _table(
            ("argument", "required", "description"),
            [
                (f"`{one['name']}`", _yes(one.get("required", False)), _described(one))
                for one in prompt.get("arguments", ())
            ],
        )
    if "extensions" in offer:
        rows = [
            (f"`{one['id']}`", _list(one["versions"]), _list(one["methods"]))
            for one in offer["extensions"]
        ]
        lines += ["", "## Extensions", *_table(("extension", "MCP", "methods"), rows)]
    for title, head in (("middleware", "around"), ("access", "what")):
        rows = [(of, _list(said)) for of, said in offer.get(title, {}).items()]
        if rows:
            lines += ["", f"## {title.capitalize()}", *_table((head, "by"), rows)]
    if "narrowed" in offer:
        lines += ["", offer["narrowed"]]
    if "warnings" in offer:
        lines += ["", "## Warnings", "", *(f"- {warning}" for warning in offer["warnings"])]
    if offer["gaps"]:
        lines += ["", "## Gaps", "", *(f"- {gap}" for gap in offer["gaps"])]
    return "\n".join(lines)


def _entry(name: str, entry: JSON, level: str = "##") -> list[str]:
    about = ["", entry["description"]] if entry.get("description") else []
    return ["", f"{level} `{name}`", *about]


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    lines = ["", f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    return lines + [f"| {' | '.join(map(_cell, row))} |" for row in rows]


def _list(said: str | list[str]) -> str:
    return said if isinstance(said, str) else ", ".join(said)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _described(value: Any) -> str:
    return str(value.get("description", "")) if isinstance(value, dict) else ""


def type_name(schema: Any) -> str:
    """Name what a property schema admits, in a few characters."""
    if not isinstance(schema, dict):
        return "any"
    if "enum" in schema:
        return " or ".join(repr(value) for value in schema["enum"])
    if "const" in schema:
        return repr(schema["const"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"array of {type_name(schema['items'])}" if "items" in schema else "array"
    if kind:
        return str(kind)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(type_name(one) for one in schema[key])
    return str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else "any"


def _title(offer: JSON) -> str:
    info = offer["server"]
    return f"{info.get('title') or info.get('name', 'server')} {info.get('version', '')}".rstrip()


def _parameters(tool: JSON) -> list[str]:
    required = tool["inputSchema"].get("required", [])
    return [
        f"{name}{'' if name in required else '?'}: {type_name(schema)}"
        for name, schema in tool["inputSchema"].get("properties", {}).items()
    ]


def _unguarded(server: Server, offer: JSON) -> list[str]:
    """Name what somebody may take for guarded, and is not."""
    settings = server._offering.settings
    labelled = [
        (f"{kind} {entry['name']}", entry)
        for kind, of in (
            ("tool", "tools"),
            ("resource", "resources"),
            ("resource", "resourceTemplates"),
            ("prompt", "prompts"),
        )
        for entry in offer[of]
    ]
    if settings.authorize is None:
        return [
            f"{label}: its metadata says {key}, and nobody asks for them: write"
            " Server(authorize=auth.require_scopes())"
            for label, entry in labelled
            for key in ("scopes", "scope")
            if key in entry.get("_meta", {})
        ]
    from ._report import NEEDS_NOBODY

    missing = settings.needs - {entry["name"] for _, entry in labelled}
    return [NEEDS_NOBODY.format(name) for name in sorted(missing)]


def _gaps(offer: JSON) -> list[str]:
    """Name what a model would miss when it has to use what is there."""
    gaps: list[str] = []
    for tool in offer["tools"]:
        arguments = tool["inputSchema"].get("properties", {})
        gaps += _unusual(tool["name"], tool["name"])
        gaps += _undescribed(tool["name"], tool, arguments)
    for resource in (*offer["resources"], *offer["resourceTemplates"]):
        gaps += _undescribed(f"resource {resource['name']}", resource, {})
    for prompt in offer["prompts"]:
        arguments = {argument["name"]: argument for argument in prompt.get("arguments", ())}
        gaps += _unusual(f"prompt {prompt['name']}", prompt["name"])
        gaps += _undescribed(f"prompt {prompt['name']}", prompt, arguments)
    return gaps


def _unusual(label: str, name: str) -> list[str]:
    from ._definition import is_usual_name

    if is_usual_name(name):
        return []
    return [f"{label}: some clients refuse names that are not 1 to 128 of A-Z a-z 0-9 _ . -"]


def _undescribed(label: str, entry: JSON, arguments: JSON) -> list[str]:
    gaps = [] if entry.get("description") else [f"{label}: no description"]
    return gaps + [
        f"{label}: argument {name} has no description"
        for name, argument in arguments.items()
        if not _described(argument)
    ]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
