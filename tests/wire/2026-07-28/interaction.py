"""The server behind the wire cases in which it speaks before it answers, or asks back."""

import asyncio

from snodo import Context, Error, Result, Server, ToolError, elicit, roots, sampling

server = Server("interaction", version="1.0.0", secret="a secret for wire cases, 32 bytes")

ANY = {"type": "object"}

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
FORM = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Who is it for?", "requestedSchema": NAME},
}
URL = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Sign here.", "url": "https://example.com/sign"},
}
SAMPLE = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "One word?"}}],
        "maxTokens": 16,
    },
}
TOOLS = SAMPLE | {"params": SAMPLE["params"] | {"toolChoice": {"mode": "none"}}}
NEIGHBOURS = SAMPLE | {"params": SAMPLE["params"] | {"includeContext": "thisServer"}}
ROOTS = {"method": "roots/list"}


# Progress and log


@server.tool(input_schema=ANY)
def counts(arguments, context):
    context.progress(1, 3)
    context.progress(2, total=3, message="two of three, 茶")
    context.progress(3)
    return "counted"


@server.tool(input_schema=ANY)
async def counts_in_a_coroutine(arguments, context):
    context.progress(1, 2)
    await asyncio.sleep(0)
    await context.progress(2, 2)
    return "counted"


@server.tool(input_schema=ANY)
def measures(arguments, context):
    context.progress(0)
    context.progress(0.5, 1.5, "")
    context.progress(1.25, 1.5)
    return "measured"


@server.tool(input_schema=ANY)
def stutters(arguments, context):
    for done in (1, 1, 0.5, 2, -3, 2.5):
        context.progress(done)
    return "stuttered"


@server.tool(input_schema=ANY)
def logs(arguments, context):
    for level in (
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ):
        context.log(level, f"a {level}")
    return "logged"


@server.tool(input_schema=ANY)
def logs_values(arguments, context):
    context.log("info", {"rows": 3, "of": ["é", None, 1.5]}, logger="database")
    context.log("info", None)
    context.log("info", 7, "numbers")
    return "logged"


@server.tool(input_schema=ANY)
def reports_and_logs(arguments, context):
    context.progress(1, 2)
    context.log("notice", "half", "worker")
    context.progress(2, 2)
    return "done"


@server.tool(input_schema=ANY)
def reports_and_fails(arguments, context):
    context.progress(1)
    raise ToolError("upstream down")


@server.tool(input_schema=ANY)
def reports_and_refuses(arguments, context):
    context.progress(1)
    raise Error(7001, "not today")


@server.tool(input_schema=ANY)
def reports_and_asks(arguments, context):
    context.progress(1)
    return Result.input_required(input_requests={"who": FORM})


@server.tool(input_schema=ANY)
def reports_and_needs(arguments, context):
    context.progress(1)
    return Result.input_required(input_requests={"who": URL})


@server.resource("wire://counts", mime_type="text/plain")
def counted_resource(context: Context):
    context.progress(1, 1)
    return "counted"


@server.prompt
def counted_prompt(context: Context):
    context.progress(1, 1)
    return "counted"


# Input


@server.tool(input_schema=ANY)
def asks_form(arguments, context):
    if context.input_responses is None:
        return Result.input_required(input_requests={"who": FORM})
    return Result.structured({"responses": context.input_responses})


@server.tool(input_schema=ANY)
def asks_url(arguments, context):
    return Result.input_required(input_requests={"sign": URL})


@server.tool(input_schema=ANY)
def asks_sampling(arguments, context):
    return Result.input_required(input_requests={"word": SAMPLE})


@server.tool(input_schema=ANY)
def asks_sampling_with_tools(arguments, context):
    return Result.input_required(input_requests={"word": TOOLS})


@server.tool(input_schema=ANY)
def asks_sampling_with_context(arguments, context):
    return Result.input_required(input_requests={"word": NEIGHBOURS})


@server.tool(input_schema=ANY)
def asks_roots(arguments, context):
    return Result.input_required(input_requests={"dirs": ROOTS})


@server.tool(input_schema=ANY)
def asks_state(arguments, context):
    if context.request_state is None:
        return Result.input_required(request_state="a state, 茶")
    return context.request_state


@server.tool(input_schema=ANY)
def asks_nothing(arguments, context):
    return Result.input_required(input_requests={}, request_state="s")


@server.tool(input_schema=ANY)
def asks_several(arguments, context):
    return Result.input_required(
        input_requests={"who": FORM, "sign": URL, "word": SAMPLE, "dirs": ROOTS},
        request_state="s",
        metadata={"com.example/stamp": 7},
    )


@server.tool(input_schema=ANY)
def asks_what_there_is_not(arguments, context):
    return Result.input_required(input_requests={"x": {"method": "tools/list"}})


@server.resource("wire://asks")
def asking_resource(context: Context):
    return Result.input_required(input_requests={"who": FORM}, request_state="s")


@server.prompt
def asking_prompt(context: Context):
    return Result.input_required(input_requests={"who": FORM}, request_state="s")


@server.prompt
def completed(word: str, words: str):
    return word


@server.complete("completed", "word")
def asking_completion(value):
    return Result.input_required(request_state="s")


@server.complete("completed", "words")
def asking_completion_by_ask(value, context: Context):
    return [context.ask("who", elicit.form("Who?", NAME)).value["name"]]


@server.tool(input_schema=ANY)
def greets(arguments, context):
    answer = context.ask("who", elicit.form("Who is it for?", NAME))
    return f"Hello, {answer.value['name']}!" if answer.accepted else f"No: {answer.action}"


@server.tool(input_schema=ANY)
def samples(arguments, context):
    return context.ask("word", sampling.create_message("One word?", 16)).value.text


@server.tool(input_schema=ANY)
def lists_roots(arguments, context):
    return [root.uri for root in context.ask("dirs", roots.list()).value]


# Changes


@server.tool(input_schema=ANY)
def announces(arguments, context):
    server.notify.tools_changed()
    server.notify.prompts_changed()
    server.notify.resources_changed()
    server.notify.resource_updated("wire://a")
    server.notify.resource_updated("wire://b")
    return "announced"


@server.tool(input_schema=ANY)
def completes(arguments, context):
    server.notify.tools_changed()
    server.notify.complete()
    return "completed"
