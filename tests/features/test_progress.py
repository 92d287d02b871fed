"""What a handler reports while it works: in order, before its answer, and only to who asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from driver import HttpConversation

PROGRESS = """
import asyncio
import threading

from snodo import Context, Server, current_context

server = Server("progress", version="1.0.0")
gate = threading.Event()
kept = []


@server.tool
def counts(context: Context, upto: int = 3) -> str:
    for done in range(1, upto + 1):
        context.progress(done, upto, f"step {done}")
    return "counted"


@server.tool
async def counts_async(context: Context, upto: int = 3) -> str:
    for done in range(1, upto + 1):
        if done % 2:
            await context.progress(done, upto, f"step {done}")
        else:
            context.progress(done, upto, message=f"step {done}")
        await asyncio.sleep(0)
    return "counted"


@server.tool
async def counts_elsewhere(context: Context) -> str:
    async def inner():
        context.progress(2)

    await asyncio.to_thread(context.progress, 1)
    await asyncio.create_task(inner())
    current_context().progress(3)
    return "counted"


@server.tool
def waits(context: Context) -> str:
    context.progress(1, 2)
    gate.wait(20)
    gate.clear()
    context.progress(2, 2)
    return "waited"


@server.tool
async def waits_async(context: Context) -> str:
    context.progress(1, 2)
    await asyncio.to_thread(gate.wait, 20)
    gate.clear()
    context.progress(2, 2)
    return "waited"


@server.tool
def release() -> str:
    gate.set()
    return "released"


@server.tool
def steps(values: list[float], context: Context) -> str:
    for value in values:
        context.progress(value)
    return "stepped"


WRONG = {
    "a boolean": lambda context: context.progress(True),
    "a text": lambda context: context.progress("1"),
    "nothing": lambda context: context.progress(None),
    "not a number": lambda context: context.progress(float("nan")),
    "without end": lambda context: context.progress(float("inf")),
    "a boolean total": lambda context: context.progress(1, True),
    "a text total": lambda context: context.progress(1, "2"),
    "a total without end": lambda context: context.progress(1, float("-inf")),
    "a number as message": lambda context: context.progress(1, 2, 3),
    "bytes as message": lambda context: context.progress(1, message=b"x"),
}


@server.tool
def wrong(how: str, context: Context) -> str:
    try:
        WRONG[how](context)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    return "accepted"


@server.tool
def tells(message: str, times: int, context: Context) -> str:
    context.progress(1, message=message * times)
    return "told"


@server.tool
def floods(times: int, context: Context) -> str:
    for done in range(times):
        context.progress(done)
    return "flooded"


@server.tool
def keeps(context: Context) -> str:
    kept.append(context)
    context.progress(1)
    return "kept"


@server.tool
async def keeps_async(context: Context) -> str:
    kept.append(context)
    context.progress(1)
    return "kept"


@server.tool
def reports_late() -> str:
    for context in kept:
        context.progress(2, message="late")
        context.log("emergency", "late")
    kept.clear()
    return "reported"


@server.tool
def tracks(upto: int, context: Context) -> int:
    return sum(context.track(range(upto)))


@server.tool
def tracks_unsized(upto: int, context: Context, total: int | None = None) -> int:
    return sum(context.track(iter(range(upto)), total=total, message="adding"))


@server.tool
async def tracks_async(upto: int, context: Context) -> int:
    found = 0
    async for item in context.track(range(upto)):
        found += item
        await asyncio.sleep(0)
    return found


@server.tool
async def tracks_a_generator(upto: int, context: Context) -> int:
    async def numbers():
        for number in range(upto):
            await asyncio.sleep(0)
            yield number

    found = 0
    async for item in context.track(numbers(), total=upto):
        found += item
    return found
"""

WRONG = {
    "a boolean": "TypeError",
    "a text": "TypeError",
    "nothing": "TypeError",
    "not a number": "ValueError",
    "without end": "ValueError",
    "a boolean total": "TypeError",
    "a text total": "TypeError",
    "a total without end": "ValueError",
    "a number as message": "TypeError",
    "bytes as message": "TypeError",
}


def told(notices: list[dict[str, Any]], token: Any) -> list[dict[str, Any]]:
    """What is reported, without what every report has."""
    found = []
    for notice in notices:
        assert notice["method"] == "notifications/progress", notice
        params = dict(notice["params"])
        assert params.pop("progressToken") == token
        found.append(params)
    return found


def values(notices: list[dict[str, Any]], token: Any) -> list[float]:
    return [report["progress"] for report in told(notices, token)]


def text(answer: dict[str, Any]) -> str:
    result = answer["result"]
    assert not result["isError"], result
    found: str = result["content"][0]["text"]
    return found


@pytest.mark.parametrize("tool", ["counts", "counts_async"])
def test_reports_come_in_order_and_before_the_answer(serve_process: Any, tool: str) -> None:
    notices, answer = serve_process(PROGRESS).hear(tool, token="t")
    assert text(answer) == "counted"
    assert told(notices, "t") == [
        {"progress": 1, "total": 3, "message": "step 1"},
        {"progress": 2, "total": 3, "message": "step 2"},
        {"progress": 3, "total": 3, "message": "step 3"},
    ]


@pytest.mark.parametrize("tool", ["waits", "waits_async"])
def test_a_report_comes_while_the_handler_still_works(serve_process: Any, tool: str) -> None:
    session = serve_process(PROGRESS)
    with session.begin_call(tool, token=tool) as conversation:
        assert values([conversation.notice()], tool) == [1]
        assert session.text("release") == "released"
        notices, answer = conversation.rest()
    assert values(notices, tool) == [2]
    assert text(answer) == "waited"


def test_threads_and_tasks_of_a_handler_report_too(serve_process: Any) -> None:
    notices, answer = serve_process(PROGRESS).hear("counts_elsewhere", token=1)
    assert text(answer) == "counted"
    assert values(notices, 1) == [1, 2, 3]


@pytest.mark.parametrize("tool", ["counts", "counts_async", "counts_elsewhere"])
def test_who_did_not_ask_is_told_nothing(serve: Any, tool: str) -> None:
    # A stream would be refused here: the answer is plain JSON.
    assert serve(PROGRESS).text(tool) == "counted"


def test_a_token_without_a_report_leaves_the_answer_plain(serve_process: Any) -> None:
    with serve_process(PROGRESS).begin_call("release", token="t") as conversation:
        notices, answer = conversation.rest()
    assert (notices, text(answer)) == ([], "released")
    if isinstance(conversation, HttpConversation):
        assert not conversation.streamed


@pytest.mark.parametrize(
    ("reported", "sent"),
    [
        ([1, 1, 0.5, 2], [1, 2]),
        ([-5, -6, 0], [-5, 0]),
        ([0.1, 0.2, 0.15, 0.3], [0.1, 0.2, 0.3]),
        ([9007199254740992, 9007199254740991, 9007199254740994], None),
    ],
)
def test_progress_that_does_not_increase_is_dropped(
    serve_process: Any, reported: list[float], sent: list[float] | None
) -> None:
    notices, answer = serve_process(PROGRESS).hear("steps", {"values": reported}, token="t")
    assert text(answer) == "stepped"
    assert values(notices, "t") == (sent or [reported[0], reported[2]])


@pytest.mark.parametrize("how", WRONG)
def test_what_is_no_report_is_refused_whether_or_not_it_would_be_sent(
    serve_process: Any, how: str
) -> None:
    session = serve_process(PROGRESS)
    assert session.text("wrong", {"how": how}) == WRONG[how]
    notices, answer = session.hear("wrong", {"how": how}, token="t")
    assert (notices, text(answer)) == ([], WRONG[how])


@pytest.mark.parametrize("how", WRONG)
def test_what_is_no_report_is_refused_without_a_transport(serve: Any, how: str) -> None:
    assert serve(PROGRESS).text("wrong", {"how": how}) == WRONG[how]


@pytest.mark.parametrize(
    ("character", "times", "kept"),
    [
        ("x", 4096, 4096),
        ("x", 4097, 4096),
        ("茶", 1365, 1365),
        ("茶", 1366, 1365),
        ("é", 9999, 2048),
    ],
)
def test_a_long_message_is_cut_between_characters(
    serve_process: Any, character: str, times: int, kept: int
) -> None:
    arguments = {"message": character, "times": times}
    notices, answer = serve_process(PROGRESS).hear("tells", arguments, token="t")
    assert text(answer) == "told"
    (report,) = told(notices, "t")
    message = report["message"]
    assert len(message.encode()) <= 4096
    assert message.rstrip("…").replace(character, "") == ""
    if times == kept:
        assert message == character * times
    else:
        assert len(message) >= kept - 3


def test_one_request_reports_ten_thousand_times_at_most(serve_process: Any) -> None:
    session = serve_process(PROGRESS)
    notices, answer = session.hear("floods", {"times": 10_500}, token="t", timeout=30)
    assert text(answer) == "flooded"
    sent = values(notices, "t")
    assert 0 < len(sent) <= 10_000
    assert sent == sorted(set(sent)), "reports must increase"


@pytest.mark.parametrize("tool", ["keeps", "keeps_async"])
def test_nothing_is_told_after_the_answer(serve_process: Any, tool: str) -> None:
    session = serve_process(PROGRESS)
    notices, answer = session.hear(tool, token="t", level="debug")
    assert (values(notices, "t"), text(answer)) == ([1], "kept")
    assert session.text("reports_late") == "reported"
    notices, answer = session.hear("counts", {"upto": 1}, token="other")
    assert values(notices, "other") == [1]
    if session.transport == "stdio":
        assert session.strays == []


def test_a_context_without_a_transport_reports_to_nobody(serve: Any) -> None:
    session = serve(PROGRESS)
    assert session.text("keeps") == "kept"
    assert session.text("reports_late") == "reported"


def test_every_request_hears_its_own_reports_alone(serve_process: Any) -> None:
    session = serve_process(PROGRESS)

    def one(number: int) -> None:
        tool = "counts" if number % 2 else "counts_async"
        notices, answer = session.hear(tool, {"upto": number + 1}, token=number)
        assert text(answer) == "counted"
        reported = values(notices, number)
        assert reported == sorted(set(reported))
        assert reported[-1] == number + 1
        assert {report["total"] for report in told(notices, number)} == {number + 1}

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(one, range(48)))
    if session.transport == "stdio":
        assert session.strays == []


# `track`


@pytest.mark.parametrize("tool", ["tracks", "tracks_async", "tracks_a_generator"])
def test_what_is_tracked_is_given_and_counted(serve_process: Any, tool: str) -> None:
    notices, answer = serve_process(PROGRESS).hear(tool, {"upto": 5}, token="t")
    assert answer["result"]["structuredContent"] == 10
    reports = told(notices, "t")
    assert [report["progress"] for report in reports][-5:] == [1, 2, 3, 4, 5]
    assert {report["total"] for report in reports} == {5}


@pytest.mark.parametrize("total", [None, 7])
def test_what_has_no_length_is_tracked_without_a_total_or_with_the_one_given(
    serve_process: Any, total: int | None
) -> None:
    arguments = {"upto": 3, "total": total}
    notices, answer = serve_process(PROGRESS).hear("tracks_unsized", arguments, token="t")
    assert answer["result"]["structuredContent"] == 3
    reports = told(notices, "t")
    assert [report["progress"] for report in reports][-3:] == [1, 2, 3]
    assert all(report.get("total") == total for report in reports)
    assert all(report["message"] == "adding" for report in reports)


@pytest.mark.parametrize("tool", ["tracks", "tracks_async", "tracks_a_generator", "tracks_unsized"])
def test_tracking_works_when_nobody_asked(serve: Any, tool: str) -> None:
    assert serve(PROGRESS).call(tool, {"upto": 4})["structuredContent"] == 6


def test_tracking_nothing_is_fine(serve_process: Any) -> None:
    _, answer = serve_process(PROGRESS).hear("tracks", {"upto": 0}, token="t")
    assert answer["result"]["structuredContent"] == 0


# Heart-beat

HEARTBEAT = """
import asyncio
import threading

from snodo import Context, Server

server = Server("heartbeat", version="1.0.0", heartbeat=0.05)
gate = threading.Semaphore(0)


@server.tool
def silent() -> str:
    gate.acquire(timeout=20)
    return "done"


@server.tool
async def silent_async() -> str:
    await asyncio.to_thread(gate.acquire, timeout=20)
    return "done"


@server.tool
def speaks_between(context: Context) -> str:
    context.progress(1, 10)
    gate.acquire(timeout=20)
    context.progress(2, 10)
    return "done"


@server.tool
def release(times: int = 1) -> str:
    for _ in range(times):
        gate.release()
    return "released"
"""


@pytest.mark.parametrize("tool", ["silent", "silent_async"])
def test_a_silent_call_is_reported_alive(serve_process: Any, tool: str) -> None:
    session = serve_process(HEARTBEAT)
    with session.begin_call(tool, token="t") as conversation:
        beats = [conversation.notice() for _ in range(3)]
        session.text("release")
        more, answer = conversation.rest()
    assert text(answer) == "done"
    reported = values(beats + more, "t")
    assert reported == sorted(set(reported)), "heart-beats must increase"


def test_heart_beats_leave_room_for_the_handlers_own_reports(serve_process: Any) -> None:
    session = serve_process(HEARTBEAT)
    with session.begin_call("speaks_between", token="t") as conversation:
        beats = [conversation.notice() for _ in range(4)]
        session.text("release")
        more, answer = conversation.rest()
    assert text(answer) == "done"
    reported = values(beats + more, "t")
    assert reported == sorted(set(reported))
    assert {1, 2} <= set(reported), "a heart-beat took the place of a report"


@pytest.mark.parametrize("tool", ["silent", "silent_async"])
def test_there_is_no_heart_beat_for_who_did_not_ask(serve_process: Any, tool: str) -> None:
    session = serve_process(HEARTBEAT)
    with session.begin_call(tool) as silent, session.begin_call("speaks_between", token=1) as asked:
        # Both have been silent for as long as the one is reported alive.
        for _ in range(4):
            asked.notice()
        session.text("release", {"times": 2})
        notices, answer = silent.rest()
        assert (notices, text(answer)) == ([], "done")
        asked.rest()
    if isinstance(silent, HttpConversation):
        assert not silent.streamed


def test_a_call_that_is_cancelled_is_reported_alive_no_more(serve_process: Any) -> None:
    session = serve_process(HEARTBEAT)
    with session.begin_call("silent_async", token="c") as clock:
        cancelled = session.begin_call("silent_async", token="t")
        cancelled.notice()
        cancelled.leave()
        clock.notice()
        session.text("release", {"times": 0})  # the server has read the cancellation by now
        before = len(cancelled.late)
        for _ in range(5):
            clock.notice()
        assert len(cancelled.late) == before
        session.text("release", {"times": 2})
        clock.rest()
