"""What the official conformance suite calls. Serve it with

    python -m snodo serve tests/conformance/server.py --port PORT

Names and texts are the suite's. Lists are sorted by name, and the suite calls the first tool with
`{}`: that is `about`.
"""

import base64
import logging
from typing import Annotated

from snodo import (
    Arg,
    Audio,
    Context,
    EmbeddedResource,
    Error,
    Image,
    Message,
    Result,
    Server,
    StaticResource,
    Text,
    ToolError,
)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4IaAAAAKcAPnCJQ6CAAAAAElFTkSuQmCC"
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

server = Server("snodo-conformance", version="1.0.0")


@server.tool
def about() -> str:
    """Say what this server is for."""
    return "Tools for the conformance suite."


# What every tool result may hold


@server.tool
def test_simple_text() -> str:
    """Return one text."""
    return "This is a simple text response for testing."


@server.tool
def test_image_content():
    """Return one image."""
    return Image(PNG, mime_type="image/png")


@server.tool
def test_audio_content():
    """Return one sound."""
    return Audio(WAV, mime_type="audio/wav")


@server.tool
def test_embedded_resource():
    """Return one resource."""
    return EmbeddedResource(
        uri="test://embedded-resource",
        mime_type="text/plain",
        text="This is an embedded resource content.",
    )


@server.tool
def test_multiple_content_types():
    """Return a text, an image and a resource."""
    return [
        Text("Multiple content types test:"),
        Image(PNG, mime_type="image/png"),
        EmbeddedResource(
            uri="test://mixed-content-resource",
            mime_type="application/json",
            text='{"test":"data","value":123}',
        ),
    ]


@server.tool
def test_error_handling():
    """Fail in the tool's way."""
    raise ToolError("This tool intentionally returns an error for testing.")


# Resources, direct and by template

server.add(
    StaticResource(
        "test://static-text",
        name="static-text",
        description="A text that never changes.",
        mime_type="text/plain",
        text="This is the content of the static text resource.",
    ),
    StaticResource(
        "test://static-binary",
        name="static-binary",
        description="An image that never changes.",
        mime_type="image/png",
        data=base64.b64decode(PNG),
    ),
)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str):
    """Data of whatever is asked for."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# Prompts, one of them with arguments that can be completed


@server.prompt
def test_simple_prompt() -> str:
    """Ask for nothing in particular."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Repeat two arguments.

    Args:
        arg1: The first.
        arg2: The second.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.complete("test_prompt_with_arguments", "arg1")
def complete_arg1(value: str) -> list[str]:
    return [word for word in ("testValue1", "testValue2") if word.startswith(value)]


@server.prompt(name="test_prompt_with_embedded_resource")
def embedded_resource_prompt(resource_uri: Annotated[str, Arg(name="resourceUri")]):
    """Show a resource.

    Args:
        resource_uri: Of the resource.
    """
    return [
        EmbeddedResource(
            resource_uri,
            mime_type="text/plain",
            text="Embedded resource content for testing.",
        ),
        "Please process the embedded resource above.",
    ]


@server.prompt
def test_prompt_with_image():
    """Show an image."""
    return [
        Message.user(Image(PNG, mime_type="image/png")),
        Message.user("Please analyze the image above."),
    ]


# Schemas and header-mirrored arguments


@server.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
def json_schema_2020_12_tool(arguments, context):
    """Accept an address that JSON Schema 2020-12 describes."""
    return "The arguments keep the schema."


@server.tool(
    input_schema={
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
        "required": ["value"],
    }
)
def test_custom_header(arguments, context):
    """Take an argument that HTTP clients repeat in a header."""
    return "The header equals the argument."


# Diagnostics of the stateless revision


@server.tool
def test_missing_capability(context: Context) -> str:
    """Need a client that can sample."""
    if "sampling" not in context.client_capabilities:
        raise Error(
            -32021,
            "Client must support sampling",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "The client can sample."


@server.tool
def test_streaming_elicitation():
    """Ask the client for a name."""
    return Result.input_required(
        input_requests={
            "user_name": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": "What is your name?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}},
                        "required": ["name"],
                    },
                },
            }
        }
    )


@server.tool
def test_logging_tool() -> str:
    """Log to the server's own log, which no client sees."""
    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        logging.getLogger("conformance").log(level, "test_logging_tool speaks")
    return "Logged."
