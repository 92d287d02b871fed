"""Programs that must type-check: `mypy --strict` finds nothing here."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, assert_type

import snodo
from snodo import (
    Arg,
    Cache,
    Context,
    Declined,
    Depends,
    DirectoryResource,
    Error,
    Event,
    Extension,
    FileResource,
    Filter,
    Hub,
    Image,
    InputRequest,
    Message,
    Result,
    Server,
    Source,
    State,
    StaticResource,
    Text,
    ToolError,
    current_auth,
    current_headers,
    current_request_id,
    elicit,
    roots,
    sampling,
)
from snodo.extension import CallNext, Method, Operation, method
from snodo.middleware import cache, concurrency, rate_limit, response_limit, retry, timeout

server = Server("shop", version="1.0.0", cache=Cache(ttl_ms=5, scope="public"))


@server.tool
def plain(a: int, b: Annotated[str, Arg("Text", min_length=1)] = "x") -> str:
    return b * a


@server.tool(name="other", annotations={"readOnlyHint": True}, timeout=3)
async def late(a: int, context: Context) -> list[int]:
    return [a]


@snodo.tool
def alone(a: int) -> int:
    return a


@snodo.tool(title="Alone", output_schema=None)
def alone_with_options(a: int) -> Image | Text | Result:
    if a < 0:
        raise ToolError("negative")
    if a > 9:
        raise Error.invalid_params("too large")
    return Text("a")


assert_type(plain(1, "a"), str)
assert_type(alone(1), int)
assert_type(alone_with_options(1), Image | Text | Result)
same: Callable[[int, str], str] = plain


class Version(snodo.Tool):
    name = "version"

    def call(self, arguments: dict[str, Any], context: Context) -> Any:
        return {}


class Later(snodo.Tool):
    name = "later"

    async def call(self, arguments: dict[str, Any], context: Context) -> Any:
        return {}


server.add(Version, Later(), alone)


@server.lifespan
@asynccontextmanager
async def life() -> AsyncIterator[int]:
    yield 1


@server.resource("people://{name}", mime_type="text/plain", cache=Cache(ttl_ms=5), size=None)
def person(name: str) -> str:
    return name


@snodo.resource("people://all", description=None)
async def people() -> list[str]:
    return []


@server.prompt
def introduce(name: str, formal: bool = False) -> list[Message | str]:
    return [Message.user(name), Message("assistant", Image(data=b"")), "x"]


@snodo.prompt(title="Alone", complete={"name": ["Ada"], "age": lambda value: [value]})
def alone_prompt(name: str, age: int) -> str:
    return name * age


@server.complete("introduce", "name")
def names(value: str, arguments: dict[str, str]) -> list[str]:
    return [value]


assert_type(person("a"), str)
assert_type(introduce("a", formal=True), list[Message | str])
assert_type(alone_prompt("a", 1), str)
assert_type(names("a", {}), list[str])


class Note(snodo.Resource):
    name = "note"
    uri_template = "note://{id}"
    cache = Cache(ttl_ms=1)

    async def read(self, params: dict[str, Any], context: Context) -> Any:
        return params["id"]


class Greet(snodo.Prompt):
    name = "greet"
    arguments = ({"name": "who", "required": True},)

    def render(self, arguments: dict[str, str], context: Context) -> Any:
        return Message.user(arguments["who"])


server.add(Note, Greet(), people, alone_prompt, StaticResource("a://b", json={"c": 1}))
server.add(FileResource("a.txt", must_exist=False), DirectoryResource(".", uri_prefix="a://c"))
with server.changes() as changes:
    changes.add(Note)
    changes.remove("prompt", "greet")
assert_type(changes.changed, set[str])


@dataclass
class Approval:
    approve: bool
    why: str = ""


@server.tool
async def interactive(context: Context, amount: int) -> str:
    answer = context.ask("confirm", elicit.form("Pay?", Approval))
    assert_type(answer, snodo.Answer[Approval])
    assert_type(answer.value, Approval)
    assert_type(context.ask("sure", elicit.form("Sure?", bool)).value, bool)
    assert_type(await context.ask("sure", elicit.form("Sure?", bool)), snodo.Answer[bool])
    assert_type(context.ask("d", elicit.form("?", {"a": int})).value, dict[str, Any])
    assert_type(context.ask("l", elicit.form("?", Literal["a", "b"])).value, Any)
    assert_type(context.ask("said", sampling.create_message("Hi", 16)).value.text, str)
    assert_type(context.ask("dirs", roots.list()).value, list[roots.Root])
    several = context.ask({"a": elicit.form("?", Approval), "b": elicit.url("?", "https://a.b")})
    assert_type(several, snodo.Answers)
    assert_type(await several, snodo.Answers)
    assert_type(several["a"], snodo.Answer[Any])
    assert_type(elicit.form("Sure?", None), InputRequest[None])
    request: InputRequest[Approval] = elicit.form("?", Approval)
    assert_type(request.response(context, "a"), snodo.Answer[Approval] | None)
    Result.input_required(input_requests={"a": request, "b": roots.list()})
    if not answer.accepted:
        raise Declined(answer.action if answer.action != "accept" else "decline")
    return answer.value.why


async def fetch() -> dict[str, int]:
    return {}


@server.tool
async def remembering(context: Context) -> None:
    assert_type(context.once("a", lambda: "x"), str)
    assert_type(await context.once("b", fetch), dict[str, int])
    for item in context.track([1, 2], message="counting"):
        assert_type(item, int)
    async for word in context.track(["a"], total=1):
        assert_type(word, str)
    context.progress(1, total=2, message="half")
    await context.progress(2.5)
    context.log("info", {"a": 1}, logger="x")
    context.check_cancelled()


state = State(["s" * 32, b"t" * 32], ttl=60)
State([("2026", "s" * 32)])
Server("x", secret="s" * 32, heartbeat=5)


@server.tool
def stateful(context: Context) -> Result:
    if state.open(context) is None:
        return Result.input_required(request_state=state.seal({"a": 1}, context, principal="ada"))
    return Result.text("done")


class Watching(Source):
    async def accept(self, filter: Filter, context: Context) -> Filter:
        return replace(filter, resource_subscriptions=("note://a",))

    async def listen(self, filter: Filter, context: Context) -> AsyncIterator[Event]:
        if filter.tools_list_changed:
            yield Event.tools_changed({"a": 1})


class Deciding(Source):
    def accept(self, filter: Filter, context: Context) -> Filter:
        return Filter(tools_list_changed=True)


Server("x", subscriptions=Watching())
Server("x", subscriptions=False)
hub = Hub(name="a", max_buffer=1, overflow="drop_newest")
assert_type(Server("x", subscriptions=hub).notify, Hub)
assert_type(hub.resource_updated("note://a")["dropped"], int)
assert_type(hub.stats()["overflow"], Literal["drop_oldest", "drop_newest"])


async def around(context: Context, arguments: dict[str, Any], call_next: Callable[..., Any]) -> Any:
    return await call_next(context, arguments)


def optional(
    context: Context, arguments: Any, call_next: Callable[[], Any], options: Mapping[str, Any]
) -> Any:
    return call_next()


surrounded = Server("x", middleware=[around, timeout(1), (optional, {"a": 1})])


def opened() -> Iterator[int]:
    yield 1


@surrounded.tool(
    middleware=[
        cache(60, key=lambda context: context.auth, max_entries=5),
        concurrency(3, key=lambda context: context.request_id),
        rate_limit(5, 1.5, method="gcra", burst=2),
        retry(3, on=(OSError, LookupError), backoff=lambda made: made / 2),
        response_limit(max_bytes=100, head=10, keep=5),
    ]
)
def dependent(
    a: int,
    b: Annotated[int, Depends(opened)],
    headers: Annotated[Mapping[str, str], current_headers],
    c: int = Depends(opened),
) -> int:
    assert_type(current_request_id(), int | str)
    return a + b + c + len(headers) + len(current_headers()) + len(current_auth())


@surrounded.resource("x://{a}", middleware=(around,))
def surrounded_resource(a: str) -> str:
    return a


@snodo.prompt(middleware=[around])
def surrounded_prompt() -> str:
    return ""


class SurroundedTool(snodo.Tool):
    name = "surrounded"
    middleware = (around, retry())

    def call(self, arguments: dict[str, Any], context: Context) -> Any:
        return None


with surrounded.overrides({opened: lambda: 3, current_auth: lambda: "ada"}):
    pass


class Counter(snodo.Actor):
    def __init__(self, count: int) -> None:
        self.count = count

    async def handle_call(self, message: Any) -> int:
        return self.count


class Journal(snodo.ThreadActor):
    def handle_cast(self, message: str) -> None: ...


async def acting() -> None:
    counter = await Counter.start(3, name="counter", supervisor=snodo.Supervisor(3, within=5))
    assert_type(counter, Counter)
    async with Counter.start(3, name=snodo.ActorName("other"), mailbox=10) as other:
        assert_type(other, Counter)
        other.tell("message")
        print(await other.ask("message", timeout=None), other.ask(1, 0.5).wait())
    with Journal.start(name="journal") as journal:
        assert_type(journal, Journal)
    await counter.stop()


async def with_actor_tools() -> None:
    handler = snodo.actor_call(
        surrounded,
        "ask",
        target=snodo.ActorName("counter"),
        input_schema={"type": "object"},
        message=lambda arguments: arguments,
        encode_reply=lambda count: {"count": count},
        timeout_ms=100,
    )
    assert_type(await handler({}), Result)
    surrounded.actor_cast("tell", target="counter", input_schema={"type": "object"}, message=1)


@surrounded.actor_call(
    "decorated", target="counter", input_schema={"type": "object"}, encode_reply=dict
)
def build(arguments: dict[str, Any], context: Context) -> Any:
    return arguments


assert_type(build({}, snodo.current_context()), Any)


class Jobs(Extension):
    id = "com.example/jobs"
    settings = {"kinds": ["work"]}  # noqa: RUF012 - never changed
    result_types = ["job"]  # noqa: RUF012 - never changed
    filter_keys = ("jobIds",)
    operations = ("tools/call",)
    missing_capability = True

    @method("jobs/get", header=("Mcp-Name", "jobId"))
    async def get(self, params: dict[str, Any], context: Context) -> dict[str, Any]:
        assert_type(context.extensions, dict[str, Any])
        return {}

    def negotiate(self, settings: Mapping[str, Any], context: Context) -> dict[str, Any] | None:
        return None

    async def around(self, context: Context, operation: Operation, call_next: CallNext) -> Result:
        assert_type(await call_next.check(), Result | None)
        return await call_next({operation.method: context.values})

    async def subscribe(self, requested: Mapping[str, Any], context: Context) -> dict[str, Any]:
        return dict(requested)

    def notification(
        self, selector: str, payload: Any, context: Context
    ) -> tuple[str, dict[str, Any]]:
        return "notifications/jobs", {}


class Others(Extension):
    id = "com.example/others"
    methods = {"others/get": Method(lambda params, context: {})}  # noqa: RUF012 - never changed


extended = Server("extended", extensions=[Jobs(), Others()])
extended.notify.publish(Event.extension("com.example/jobs", "a", {"n": 1}))
