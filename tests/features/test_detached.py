"""What is below an extension's layer, run when the request has its answer already."""

from __future__ import annotations

from typing import Any

import pytest

from driver import wait_until

JOBS = """
import asyncio
import itertools
import threading

from snodo import Context, Error, Extension, Result, Server, elicit
from snodo.extension import method

numbers = itertools.count(1)
started = threading.Event()
stopped = threading.Event()
gate = threading.Event()


class Jobs(Extension):
    id = "com.example/jobs"
    missing_capability = True
    result_types = ("job",)
    operations = ("tools/call",)

    def __init__(self):
        self.jobs = {}
        self.tasks = {}
        self.answers = {}

    async def around(self, context, operation, call_next):
        if self.id not in context.extensions:
            return await call_next()
        known = await call_next.check()
        if known is not None:
            return known
        job = f"j{next(numbers)}"
        later = call_next.detach(timeout=context.meta.get("com.example/timeout"))
        self.jobs[job] = {"status": "working"}
        self.answers[job] = asyncio.get_running_loop().create_future()
        often = context.meta.get("com.example/often", 1)
        self.tasks[job] = asyncio.create_task(self.work(job, later, often))
        return Result.wire({"resultType": "job", "jobId": job})

    async def work(self, job, later, often):
        try:
            for time in range(often):
                result = await later({"job": f"{job}.{time}"})
            while result.value["resultType"] == "input_required":
                self.jobs[job] = {"status": "asks", "asked": result.value["inputRequests"]}
                result = await later(
                    {"job": f"{job}.answered"},
                    input_responses=await self.answers[job],
                    request_state=result.value["requestState"],
                )
            self.jobs[job] = {"status": "completed", "result": result.value}
        except Error as error:
            self.jobs[job] = {"status": "failed", "code": error.code, "message": error.message}
        except asyncio.CancelledError:
            self.jobs[job] = {"status": "cancelled"}

    @method("jobs/get")
    async def get(self, params, context):
        return {"job": self.jobs[params["jobId"]]}

    @method("jobs/answer")
    async def answer(self, params, context):
        self.answers[params["jobId"]].set_result(params["answers"])
        return {}

    @method("jobs/cancel")
    async def cancel(self, params, context):
        self.tasks[params["jobId"]].cancel()
        return {}

    @method("jobs/open")
    def open(self, params, context):
        gate.set()
        return {}

    @method("jobs/await")
    def awaits(self, params, context):
        return {"happened": {"started": started, "stopped": stopped}[params["what"]].wait(10)}


server = Server("jobs", version="1.0.0", extensions=[Jobs()], timeout=5)


@server.tool
def works(text: str, context: Context) -> str:
    gate.wait(10)
    said = [context.meta.get("progressToken"), bool(context.headers), context.auth]
    context.progress(1, 2)
    return f"{text} {context.values['job']} {said} {list(context.extensions)}"


@server.tool
async def waits() -> str:
    started.set()
    try:
        await asyncio.sleep(30)
    finally:
        stopped.set()


@server.tool(timeout=0.2)
async def hurries(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "in time"


@server.tool
def fails() -> str:
    raise Error(-5, "no")


@server.tool
def greets(context: Context) -> str:
    name = context.ask("name", elicit.form("Who?", {"name": str}))
    return f"Hello, {name.value['name']}, says {context.values['job']}"
"""

DECLARED = {
    "_meta": {
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {"form": {}},
            "extensions": {"com.example/jobs": {}},
        }
    }
}


def begun(session: Any, tool: str, meta: dict[str, Any] | None = None, **arguments: Any) -> str:
    """The job that a call becomes."""
    said = {"_meta": {**DECLARED["_meta"], **(meta or {})}}
    result = session.ask("tools/call", {"name": tool, "arguments": arguments, **said})
    assert result["resultType"] == "job"
    job: str = result["jobId"]
    return job


def found(session: Any, job: str, status: str) -> dict[str, Any]:
    """The job once it has come so far."""
    last: dict[str, Any] = {}

    def has() -> bool:
        last.update(session.ask("jobs/get", {"jobId": job, **DECLARED})["job"])
        return last["status"] == status

    wait_until(has, f"{job} is {status}")
    return last


def test_what_is_below_runs_when_the_answer_is_there(serve: Any) -> None:
    session = serve(JOBS)
    meta = {"progressToken": "t", "com.example/often": 2}
    job = begun(session, "works", meta, text="done")
    assert session.ask("jobs/get", {"jobId": job, **DECLARED})["job"] == {"status": "working"}
    session.ask("jobs/open", DECLARED)
    told = found(session, job, "completed")["result"]["content"][0]["text"]
    # It ran twice. Of the way the request came nothing is left.
    assert told == f"done {job}.1 [None, False, None] ['com.example/jobs']"


def test_who_does_not_declare_it_is_answered_directly(serve: Any) -> None:
    assert serve(JOBS).text("hurries", {"seconds": 0}) == "in time"


def test_bad_arguments_begin_nothing(serve: Any) -> None:
    params = {"name": "works", "arguments": {}, **DECLARED}
    assert serve(JOBS).ask("tools/call", params)["isError"] is True


def test_whoever_stops_waiting_stops_it(serve: Any) -> None:
    session = serve(JOBS)
    job = begun(session, "waits")
    assert session.ask("jobs/await", {"what": "started", **DECLARED})["happened"] is True
    session.ask("jobs/cancel", {"jobId": job, **DECLARED})
    assert session.ask("jobs/await", {"what": "stopped", **DECLARED})["happened"] is True
    found(session, job, "cancelled")


@pytest.mark.parametrize(
    ("timeout", "status"), [(None, "failed"), (5, "completed"), (0.01, "failed")]
)
def test_it_has_its_own_time(serve: Any, timeout: float | None, status: str) -> None:
    session = serve(JOBS)
    job = begun(session, "hurries", {"com.example/timeout": timeout}, seconds=0.5)
    told = found(session, job, status)
    if status == "failed":
        assert (told["code"], told["message"]) == (-32603, "Request execution timed out")


def test_an_error_is_raised(serve: Any) -> None:
    session = serve(JOBS)
    told = found(session, begun(session, "fails"), "failed")
    assert (told["code"], told["message"]) == (-5, "no")


def test_it_is_asked_and_answered_in_rounds(serve: Any) -> None:
    session = serve(JOBS)
    job = begun(session, "greets")
    asked = found(session, job, "asks")["asked"]
    assert list(asked) == ["name"]
    answers = {"name": {"action": "accept", "content": {"name": "Ada"}}}
    session.ask("jobs/answer", {"jobId": job, "answers": answers, **DECLARED})
    told = found(session, job, "completed")["result"]["content"][0]["text"]
    assert told == f"Hello, Ada, says {job}.answered"
