"""What the official conformance suite calls. Serve it with

    python -m snodo serve tests/conformance/server.py --port PORT

Names and texts are the suite's. Lists are sorted by name, and the suite calls the first tool with
`{}`: that is `about`.
"""

import asyncio
import base64
from typing import Annotated

from snodo import (
    Arg,
    Audio,
    Context,
    EmbeddedResource,
    Image,
    Message,
    Result,
    Server,
    State,
    StaticResource,
    Text,
    ToolError,
    elicit,
    roots,
    sampling,
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


@server.tool
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        context.progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "Tool with progress completed."


@server.tool
async def test_tool_with_logging(context: Context) -> str:
    """Log three times."""
    for said in ("execution started", "processing data", "execution completed"):
        context.log("info", f"Tool {said}")
        await asyncio.sleep(0.05)
    return "Tool with logging completed."


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
    StaticResource(
        "test://watched-resource",
        name="watched-resource",
        description="A text that clients subscribe to.",
        mime_type="text/plain",
        text="This is the content of the watched resource.",
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

WHO = elicit.form("What is your name?", {"name": str})


@server.tool
def test_missing_capability(context: Context) -> str:
    """Need a client that can sample."""
    answer = context.ask("word", sampling.create_message("One word?", 16))
    return answer.value.text


@server.tool
def test_streaming_elicitation(context: Context) -> str:
    """Ask the client for a name."""
    return f"Hello, {context.ask('user_name', WHO).value['name']}!"


@server.tool
def test_logging_tool(context: Context) -> str:
    """Log from debug to error, for a client that wants it."""
    for level in ("debug", "info", "warning", "error"):
        context.log(level, f"test_logging_tool speaks at {level}")
    return "Logged."


@server.tool
def test_trigger_tool_change() -> str:
    """Tell listeners that the tools changed."""
    server.notify.tools_changed()
    return "Told."


@server.tool
def test_trigger_prompt_change() -> str:
    """Tell listeners that the prompts changed."""
    server.notify.prompts_changed()
    return "Told."


# What clients that open with a handshake are asked: the same way


@server.tool
def test_sampling(prompt: str, context: Context) -> str:
    """Ask the client's model."""
    answer = context.ask("answer", sampling.create_message(prompt, 100)).value
    return f"LLM response: {answer.text}"


@server.tool
def test_elicitation(message: str, context: Context) -> str:
    """Ask the user for a name and an address."""
    answer = context.ask("user", elicit.form(message, {"username": str, "email": str}))
    return f"User response: {answer.action}"


@server.tool
def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask with something filled in everywhere."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "default": True},
        },
        "required": [],
    }
    answer = context.ask("user", elicit.form("Please review and update.", schema))
    return f"Elicitation completed: {answer.action}"


@server.tool
def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask for choices of every kind."""
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    plain = ["option1", "option2", "option3"]
    schema = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
        "required": [],
    }
    answer = context.ask("user", elicit.form("Please select options.", schema))
    return f"Elicitation completed: {answer.action}"


@server.tool
async def test_reconnection() -> str:
    """Take long enough for the client to lose its connection and come back."""
    await asyncio.sleep(2)
    return "Reconnection test completed."


# Tools that ask back, the plain way


@server.tool
def test_input_required_result_elicitation(context: Context) -> str:
    """Ask for a name."""
    answer = context.ask("user_name", WHO)
    return f"Hello, {answer.value['name']}!" if answer.accepted else "Hello, whoever you are!"


@server.tool
def test_input_required_result_sampling(context: Context) -> str:
    """Ask the client's model."""
    question = sampling.create_message("What is the capital of France?", 100)
    return context.ask("capital_question", question).value.text


@server.tool
def test_input_required_result_list_roots(context: Context) -> list[str]:
    """Ask for the roots."""
    return [root.uri for root in context.ask("client_roots", roots.list()).value]


@server.tool
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask for a name, a greeting and the roots at once."""
    answers = await context.ask(
        {
            "user_name": WHO,
            "greeting": sampling.create_message("Generate a greeting.", 50),
            "client_roots": roots.list(),
        }
    )
    name, count = answers["user_name"].value["name"], len(answers["client_roots"].value)
    return f"{answers['greeting'].value.text} to {name} with {count} roots"


@server.tool
async def test_input_required_result_multi_round(context: Context) -> str:
    """Ask for a name, then for a colour."""
    name = await context.ask("step1", elicit.form("Step 1: your name?", {"name": str}))
    color = await context.ask("step2", elicit.form("Step 2: your colour?", {"color": str}))
    return f"{name.value['name']} likes {color.value['color']}."


@server.tool
def test_input_required_result_tampered_state(context: Context) -> str:
    """Ask for a confirmation, and take it only with the state it was asked with."""
    context.ask("confirm", elicit.form("Please confirm.", {"ok": bool}))
    return "Confirmed."


@server.prompt
def test_input_required_result_prompt(context: Context) -> str:
    """Ask what the prompt should be about."""
    answer = context.ask("user_context", elicit.form("What is it about?", {"context": str}))
    return f"Use this: {answer.value['context']}"


# The same by hand

STATE = State()
CONFIRM = elicit.form("Please confirm.", {"ok": bool})


@server.tool
def test_input_required_result_request_state(context: Context):
    """Ask for a confirmation and hand out a state with it."""
    state = STATE.open(context, principal=None)
    answer = CONFIRM.response(context, "confirm")
    if state is None or answer is None:
        return Result.input_required(
            input_requests={"confirm": CONFIRM},
            request_state=STATE.seal({"asked": True}, context, principal=None),
        )
    return f"state-ok, {answer.action}"


@server.tool
def test_input_required_result_capabilities(context: Context):
    """Ask only what the client can answer."""
    able = context.client_capabilities
    wanted = {}
    if "sampling" in able:
        wanted["greeting"] = sampling.create_message("Generate a greeting.", 50)
    if "elicitation" in able:
        wanted["user_name"] = WHO
    if not wanted or context.input_responses is not None:
        return f"{len(context.input_responses or {})} answers"
    return Result.input_required(input_requests=wanted)
