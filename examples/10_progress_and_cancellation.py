"""Work that takes a while: say how far it is, say what happens, stop when nobody waits any more.

None of this costs anything for clients that did not ask for it, and none of it ever waits.

python examples/10_progress_and_cancellation.py --check
"""

import asyncio
import queue
import sys
import time

from snodo import Context, Server

# A call that says nothing for ten seconds says by itself that it is still at work.
server = Server("workshop", version="1.0.0", timeout=120, heartbeat=10)

laid_down: queue.SimpleQueue[str] = queue.SimpleQueue()


@server.tool
def plane(boards: int, context: Context) -> str:
    """Plane boards, one after the other."""
    try:
        # Reports 1 of `boards`, 2 of `boards`, ... and stops between two of them when cancelled.
        for _ in context.track(range(boards), message="planing"):
            time.sleep(0.01)
    finally:
        laid_down.put("plane")
    return f"Planed {boards} boards."


@server.tool
async def glue(parts: list[str], context: Context) -> str:
    """Glue parts together."""
    context.log("info", {"parts": len(parts)}, logger="glue")
    for number, part in enumerate(parts, 1):
        await asyncio.sleep(0.01)
        context.progress(number, len(parts), f"glued the {part}")
    context.log("debug", "the clamps stay on until tomorrow", logger="glue")
    return f"Glued {', '.join(parts)}."


@server.tool
async def dry(context: Context) -> str:
    """Wait until the glue is dry."""
    context.progress(0, message="drying")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        laid_down.put("clamps")  # there is time to clean up
        raise
    return "Dry."


@server.tool
def last_laid_down() -> str:
    """Say which tool was laid down last, waiting for it if need be."""
    return laid_down.get(timeout=5)


def check() -> None:
    from _check import call, served, stream

    # Nobody asked, so nobody is told.
    assert call(server, "plane", boards=3)["content"][0]["text"] == "Planed 3 boards."

    with served(__file__) as url:

        def say(tool: str, meta: dict[str, object], **arguments: object):
            return stream(url, "tools/call", meta=meta, name=tool, arguments=arguments)

        # A lone answer stays plain JSON over HTTP; with notices before it, it is a stream.
        *notices, answer = say("plane", {"progressToken": "planing"}, boards=5)
        assert answer["result"]["content"][0]["text"] == "Planed 5 boards."
        assert {one["method"] for one in notices} == {"notifications/progress"}
        assert {one["params"]["progressToken"] for one in notices} == {"planing"}
        reported = [one["params"]["progress"] for one in notices]
        assert reported == sorted(set(reported)), "always rising"
        assert reported[-1] == notices[-1]["params"]["total"] == 5
        assert next(say("last_laid_down", {}))["result"]["content"][0]["text"] == "plane"

        # Log entries only for who set a level, and none below it.
        level = {"io.modelcontextprotocol/logLevel": "info"}
        *notices, answer = say("glue", level, parts=["seat", "back"])
        (entry,) = notices
        assert entry["method"] == "notifications/message"
        assert entry["params"] == {"level": "info", "logger": "glue", "data": {"parts": 2}}
        assert len(list(say("glue", {}, parts=["seat"]))) == 1

        # A client that hangs up: a coroutine is cancelled at once, a plain function stops where it
        # looks. Both lay down their tools.
        for tool, arguments, expected in (
            ("dry", {}, "clamps"),
            ("plane", {"boards": 10_000}, "plane"),
        ):
            answers = say(tool, {"progressToken": 1}, **arguments)
            assert next(answers)["method"] == "notifications/progress"
            answers.close()
            assert next(say("last_laid_down", {}))["result"]["content"][0]["text"] == expected


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
