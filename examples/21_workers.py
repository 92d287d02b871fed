"""Several processes behind one address, which no client notices.

What is asked in one worker may be answered in another, a session is found wherever it is asked for,
and news reach whoever listens.

python -m snodo serve examples/21_workers.py --workers 2
python examples/21_workers.py --check
"""

import os
import sys

from snodo import Context, Server, elicit

server = Server("weather", version="1.0.0")


@server.tool
def station() -> str:
    """Say which process answers."""
    return str(os.getpid())


@server.tool
def report(context: Context) -> list[int]:
    """Ask for the weather, and say which processes had to do with it."""
    begun = context.once("begun", os.getpid)
    context.ask("sky", elicit.form("What does the sky look like?", str))
    server.notify.resource_updated("weather://sky")
    return [begun, os.getpid()]


@server.resource("weather://sky")
def sky() -> str:
    """Look up."""
    return "blue"


def check() -> None:
    from _check import Session, post, served, stream

    with served(__file__, "--workers", "2") as url:
        # A request of 2026-07-28 stands on its own: each connection comes to any worker.
        seen: set[str] = set()
        for _ in range(500):
            status, answer = post(url, "station", {}, {})
            assert status == 200
            seen.add(answer["result"]["content"][0]["text"])
            if len(seen) == 2:
                break
        assert len(seen) == 2, seen

        # Somebody listens, in one of them.
        listening = stream(
            url, "subscriptions/listen", notifications={"resourceSubscriptions": ["weather://sky"]}
        )
        assert next(listening)["method"] == "notifications/subscriptions/acknowledged"

        # A call that asks goes on wherever it comes back, for both can open what one has sealed.
        crossed = False
        for _ in range(100):
            (first,) = stream(url, "tools/call", name="report", arguments={})
            (second,) = stream(
                url,
                "tools/call",
                name="report",
                arguments={},
                inputResponses={"sky": {"action": "accept", "content": {"value": "blue"}}},
                requestState=first["result"]["requestState"],
            )
            begun, ended = second["result"]["structuredContent"]
            # Wherever that was, the listener hears of it.
            assert next(listening)["params"]["uri"] == "weather://sky"
            crossed = crossed or begun != ended
            if crossed:
                break
        assert crossed, "both halves always came to one worker"
        listening.close()

        # A session of an older client lives in one of them. The other hands over what is for it.
        session = Session(url, "2025-11-25", {})
        homes = set()
        for _ in range(10):
            (answer,) = session.stream("tools/call", name="station", arguments={})
            homes.add(answer["result"]["content"][0]["text"])
        assert len(homes) == 1, homes
        session.end()


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run("http")
