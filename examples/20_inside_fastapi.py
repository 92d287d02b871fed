"""An endpoint inside FastAPI: one line, no lifespan to wire up, coroutines on the host's own loop.

The application's own middleware says who calls; tools see it as `context.auth`.

python examples/20_inside_fastapi.py --check
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from snodo import Context, Server

try:
    import uvicorn
    from fastapi import FastAPI, Request, Response
except ImportError:
    print("This example needs FastAPI and uvicorn: pip install fastapi uvicorn")
    raise SystemExit(0) from None

server = Server("library", version="1.0.0")
loans: dict[str, str] = {}
returned = asyncio.Event()


@server.tool
async def borrow(book: str, context: Context) -> str:
    """Borrow a book."""
    reader = (context.auth or {}).get("reader", "nobody")
    loans[book] = reader
    return f"{reader} has {book}"


@server.tool
async def wait_for(book: str, context: Context) -> str:
    """Wait until a book comes back."""
    context.progress(0, 1, f"{loans[book]} still has it")
    await returned.wait()  # the endpoint below runs on the same loop, so it can simply set it
    return f"{book} is back"


app = FastAPI()


@app.middleware("http")
async def identify(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Verify who calls, as the application does it anyway. Here a token is a name."""
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token:
        request.state.mcp_auth = {"reader": token}
    return await call_next(request)


@app.post("/books/{book}/return")
async def give_back(book: str) -> dict[str, str]:
    reader = loans.pop(book)
    returned.set()
    return {"returned": book, "by": reader}


# Last, for it takes every path that is still free; the endpoint is at /mcp.
app.mount("/", server.asgi())


def check() -> None:
    import json
    import socket
    import threading
    import urllib.request

    from _check import post, stream

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=running.run, args=([listener],))
    thread.start()
    try:
        base = f"http://127.0.0.1:{port}"
        told = {"Authorization": "Bearer Ada"}
        status, answer = post(f"{base}/mcp", "borrow", {"book": "Emma"}, told)
        assert status == 200, answer
        assert answer["result"]["content"][0]["text"] == "Ada has Emma"

        # A tool that speaks before it answers is an event stream here too.
        wanted = {"name": "wait_for", "arguments": {"book": "Emma"}}
        messages = stream(f"{base}/mcp/", "tools/call", meta={"progressToken": "p"}, **wanted)
        assert next(messages)["params"]["message"] == "Ada still has it"

        # The application's own endpoints are as they were.
        back = urllib.request.Request(f"{base}/books/Emma/return", method="POST")
        with urllib.request.urlopen(back, timeout=10) as reply:
            assert json.load(reply) == {"returned": "Emma", "by": "Ada"}
        assert next(messages)["result"]["content"][0]["text"] == "Emma is back"
    finally:
        running.should_exit = True
        thread.join(10)


if __name__ == "__main__":
    check() if "--check" in sys.argv else uvicorn.run(app)
