"""What other people's clients are asked and told: questions of each kind, progress, log, news."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from snodo import Context, Result, Server, State, elicit, roots, sampling

server = Server("interaction", version="1.0.0")


@dataclass
class Order:
    """What is ordered."""

    item: str
    count: int = 1
    size: Literal["s", "m", "l"] = "m"
    gift: bool = False


@server.tool
async def form(context: Context) -> str:
    """Ask a form."""
    order = (await context.ask("order", elicit.form("What would you like?", Order))).value
    return f"{order.count} {order.item} of size {order.size}, gift: {order.gift}"


@server.tool
def url(context: Context) -> str:
    """Send the user to a page."""
    return context.ask("pay", elicit.url("Pay here.", "https://example.com/pay/7")).action


@server.tool
def sample(context: Context) -> str:
    """Ask the client's model."""
    question = sampling.create_message("One word for happy?", 16, system_prompt="Be brief.")
    answer = context.ask("word", question).value
    return f"{answer.text} by {answer['model']}"


@server.tool
def list_roots(context: Context) -> str:
    """Ask for the roots."""
    return " ".join(root.uri for root in context.ask("dirs", roots.list()).value)


@server.tool
async def together(context: Context) -> str:
    """Ask everything at once."""
    answers = await context.ask(
        {
            "order": elicit.form("What would you like?", Order),
            "pay": elicit.url("Pay here.", "https://example.com/pay/7"),
            "word": sampling.create_message("One word for happy?", 16),
            "dirs": roots.list(),
        }
    )
    return f"{answers['order'].value.item} {answers['pay'].action} {answers['word'].value.text}"


@server.tool
def rounds(context: Context) -> str:
    """Ask in several rounds."""
    names: list[str] = []
    while len(names) < 4:
        names.append(context.ask("next", elicit.form(f"After {len(names)}?", str)).value)
    total = context.once("sum", lambda: len(names))
    word = context.ask("word", sampling.create_message("One word for happy?", 16)).value.text
    return f"{' '.join(names)} {total} {word}"


@server.tool
def decline(context: Context) -> str:
    """Ask what will be declined."""
    return context.ask("decline", elicit.form("Would you decline?", str)).action


STATE = State()


@server.tool
def state_alone(context: Context):
    """Hand out a state twice, and ask nothing."""
    state = STATE.open(context, principal=None) or {"round": 0}
    if state["round"] == 2:
        return "after two rounds"
    sealed = STATE.seal({"round": state["round"] + 1}, context, principal=None)
    return Result.input_required(request_state=sealed)


@server.resource("secret://{name}", mime_type="text/plain")
def secret(name: str, context: Context) -> str:
    """Ask before it is read."""
    word = context.ask("word", elicit.form("The password?", str)).value
    return f"{name}, by {word}"


@server.prompt
async def advise(topic: str, context: Context) -> str:
    """Ask before it is written."""
    word = (await context.ask("word", elicit.form("In which tone?", str))).value
    return f"Advise on {topic}, {word}."


heard = asyncio.Event()


@server.tool
async def works(context: Context, until_heard: bool = False) -> str:
    """Report progress and log."""
    for done in range(1, 4):
        context.progress(done, 3, f"step {done}")
    context.log("debug", "not wanted")
    context.log("warning", {"slow": True}, logger="worker")
    if until_heard:
        await heard.wait()
        heard.clear()
    return "worked"


@server.tool
async def hears() -> str:
    """Let the work end."""
    heard.set()
    return "heard"


@server.tool
def announce(uri: str) -> str:
    """Tell of changes."""
    server.notify.tools_changed()
    server.notify.resource_updated(uri)
    return "announced"


@server.tool
def complete() -> str:
    """End all subscriptions."""
    server.notify.complete()
    return "completed"
