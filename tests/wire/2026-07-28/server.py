"""The server behind the wire cases: small, fixed, with verbatim schemas."""

import asyncio
from typing import ClassVar

from snodo import (
    Audio,
    Cache,
    Context,
    EmbeddedResource,
    Error,
    Image,
    Message,
    Prompt,
    Resource,
    ResourceLink,
    Result,
    Server,
    StaticResource,
    Text,
    ToolError,
)

server = Server("wire", version="1.0.0", instructions="Add and greet.")

PAIR = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
    },
}
ANY = {"type": "object"}


@server.tool(description="Add two integers.", input_schema=PAIR)
def add(arguments, context):
    return {"sum": arguments["a"] + arguments["b"]}


@server.tool(
    name="blåbær",
    title="Berries",
    input_schema=ANY,
    annotations={"readOnlyHint": True, "openWorldHint": False},
)
def berries(arguments, context):
    return "blåbær 茶"


@server.tool(
    input_schema=ANY,
    output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
)
def count(arguments, context):
    return {"n": arguments.get("n", 1)}


@server.tool(input_schema=ANY)
def echo(arguments, context):
    return arguments


@server.tool(input_schema=ANY)
def fail(arguments, context):
    raise ToolError("upstream down")


@server.tool(input_schema=ANY)
def picture(arguments, context):
    return Image(b"\x89PNG", mime_type="image/png")


@server.tool(input_schema=ANY)
def refuse(arguments, context):
    raise Error(7001, "not today", data={"retry": False})


@server.tool(input_schema=REGION)
def route(arguments, context):
    return "routed"


@server.tool(input_schema=ANY)
async def seen(arguments, context: Context):
    await asyncio.sleep(0)
    return {"method": context.method, "id": context.request_id}


@server.tool(input_schema=ANY)
def stamped(arguments, context):
    return Result.text("stamped", metadata={"com.example/stamp": 7})


@server.tool(input_schema=ANY)
def values(arguments, context):
    return [1, 2.5, None, True, "x"]


# Direct resources

server.add(
    StaticResource(
        "wire://all",
        text="all of it",
        name="all",
        title="All",
        description="With every field.",
        mime_type="text/plain",
        annotations={"audience": ["user", "assistant"], "priority": 0.5},
        icons=[{"src": "https://example.com/i.png", "mimeType": "image/png"}],
        metadata={"com.example/stamp": 7},
        cache=Cache(ttl_ms=5000, scope="public"),
    ),
    StaticResource("wire://static/data", data=b"\x89PNG", name="static_data"),
    StaticResource("wire://static/json", json={"n": 1, "t": "é"}, name="static_json"),
)


@server.resource("wire://blob", mime_type="image/png")
def blob():
    return b"\x89PNG"


@server.resource("wire://blocks")
def blocks():
    return [
        Text("a text"),
        Image(b"\x89PNG", mime_type="image/png"),
        EmbeddedResource("wire://other", text="another", mime_type="text/x-other"),
    ]


@server.resource("wire://broken")
def broken():
    return Result.resource_read([{"uri": "wire://broken", "text": "a", "blob": "aaaa"}])


@server.resource("wire://empty")
def empty():
    return ""


@server.resource("wire://fails")
def fails():
    raise ToolError("told to nobody")


@server.resource("wire://gone")
def gone():
    raise Error.resource_not_found("wire://gone")


@server.resource("wire://json")
def json_value():
    return {"n": 1, "list": [True, None], "t": "\u2028é"}


@server.resource("wire://nothing")
def nothing():
    return None


@server.resource("wire://refuses")
def refuses():
    raise Error(7001, "not today", data={"retry": False})


@server.resource("wire://reserved-code")
def reserved_code():
    raise Error(-32002, "Resource not found")


@server.resource("wire://several", mime_type="text/plain")
async def several():
    return Result.resource_read(
        [{"text": "here"}, {"uri": "wire://there", "mimeType": "text/html", "blob": "iVBORw=="}],
        ttl_ms=60_000,
        cache_scope="public",
        metadata={"com.example/stamp": 7},
    )


@server.resource("wire://text", mime_type="text/markdown", cache=Cache(ttl_ms=250))
def text():
    return "# Blåbær 茶\n"


@server.resource("wire://wrong-kind")
def wrong_kind():
    return Result.prompt_get([])


@server.resource("wire://wrong-scope")
def wrong_scope():
    return Result.resource_read([{"text": "x"}], cache_scope="shared")


# Templates


class Note(Resource):
    name = "note"
    title = "Note"
    description = "What a handler is given."
    uri_template = "note://store/{id}"
    mime_type = "application/json"
    complete: ClassVar = {"id": ["10", "11", "2"]}

    def read(self, params, context):
        return params


server.add(Note)


@server.resource("both://{a}/x")
def both_first(a: str):
    return a


@server.resource("both://y/{b}")
def both_second(b: str):
    return b


@server.resource("day://{number}", mime_type="text/plain")
def day(number: int):
    return f"{number + 1}"


@server.resource("find://notes{?q,lang}")
def find(q: str | None = None, lang: str = "en"):
    return {"q": q, "lang": lang}


@server.resource("tree://all/{+path}")
def tree(path: str):
    return path


# Prompts


class Summarise(Prompt):
    name = "summarise"
    title = "Summarise"
    description = "Ask for a summary."
    arguments: ClassVar = [
        {"name": "text", "title": "Text", "description": "What to summarise.", "required": True},
        {"name": "tone", "required": False},
        {"name": "length"},
    ]
    icons: ClassVar = [{"src": "https://example.com/i.png"}]
    metadata: ClassVar = {"com.example/stamp": 7}
    complete: ClassVar = {"tone": ["formal", "friendly", "Frank"]}

    def render(self, arguments, context):
        return " ".join(f"{name}={arguments[name]}" for name in sorted(arguments))


server.add(Summarise)


@server.prompt
def broken_message():
    return Result.prompt_get([{"role": "system", "content": {"type": "text", "text": "x"}}])


@server.prompt
def every_content():
    return [
        "a string",
        Message.assistant("an answer"),
        Image(b"\x89PNG", mime_type="image/png"),
        Message.assistant(Audio(b"RIFF", mime_type="audio/wav")),
        EmbeddedResource("wire://other", text="another", mime_type="text/x-other"),
        ResourceLink("wire://text", "text", mime_type="text/markdown"),
    ]


@server.prompt
def fails_politely():
    raise ToolError("told to nobody")


@server.prompt
async def greeting():
    await asyncio.sleep(0)
    return "Hello, 茶!"


@server.prompt
def plan(days: int, start: str = "today"):
    return f"{days + 1} days from {start}"


@server.prompt
def refuses_to_speak():
    raise Error(7001, "not today", data={"retry": False})


@server.prompt
def says_nothing():
    return None


@server.prompt
def with_description():
    """Is described here."""
    return Result.prompt_get(
        [Message.user("x")], description="Is described anew.", metadata={"com.example/stamp": 7}
    )


@server.prompt
def wrong_result():
    return Result.completion([])


# Completion


@server.prompt
def completed(few: str, many: str, hinted: str, given: str, wrong: str, odd: str, plain: str):
    return "x"


@server.complete("completed", "few")
def complete_few(value):
    return [word for word in ("alpha", "beta") if word.startswith(value)]


@server.complete("completed", "many")
def complete_many(value):
    return [f"{value}{n}" for n in range(250)]


@server.complete("completed", "hinted")
async def complete_hinted(value):
    await asyncio.sleep(0)
    return Result.completion(["é"], total=7, has_more=True)


@server.complete("completed", "given")
def complete_given(value, arguments):
    return [f"{name}={arguments[name]}" for name in sorted(arguments)]


@server.complete("completed", "wrong")
def complete_wrong(value):
    return Result.resource_read([{"text": "x"}])


@server.complete("completed", "odd")
def complete_odd(value):
    return [1, 2]
