"""The one fixture features share: a server given as text, reached over each transport.

And what all tests share: whatever a server says to them is held to the official schemas.
"""

from __future__ import annotations

import functools
import signal
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from driver import (
    AsgiSession,
    DirectSession,
    HttpSession,
    Session,
    StdioSession,
    list_everything,
    recording,
)
from snodo import Server

TRANSPORTS: dict[str, Callable[[Path], Session]] = {
    "http": HttpSession,
    "stdio": StdioSession,
    "direct": DirectSession,
    "asgi": AsgiSession,
}

# What goes another way within an ASGI server: what is said before the answer, who leaves, how much
# is sent, whose headers and whose loop it is.
WITHIN_ASGI = {"test_ask", "test_context", "test_progress", "test_results", "test_timeouts"}
PROCESSES_WITHIN_ASGI = {"test_cancellation", "test_subscriptions"}

Serve = Callable[[str], Session]

# How long an example takes on a machine that has other things to do is nobody's fault.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

# Whatever a shell runs in the background is not to hear Ctrl-C, nor is what that starts in turn.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def recorded() -> Iterator[None]:
    """Overhears what is answered in this process; the drivers see to the rest."""
    handle = Server.handle

    @functools.wraps(handle)
    def overheard(self: Server, message: Any, **options: Any) -> Any:
        answer = handle(self, message, **options)
        recording.handled(message, answer)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "handle", overheard)
        yield


@pytest.fixture(autouse=True)
def _official(recorded: None) -> Iterator[None]:
    """Fails a test in which a server said what breaks the schema of the revision it spoke."""
    yield
    _check()


def _check() -> None:
    found = recording.complaints()
    assert not found, "\n".join(found)


@pytest.fixture(scope="session")
def write_app(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes a server's source to a file of its own."""

    def write(source: str) -> Path:
        path = tmp_path_factory.mktemp("app") / "app.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    return write


def _serve(opener: Callable[[Path], Session], write: Callable[[str], Path]) -> Iterator[Serve]:
    opened: dict[str, Session] = {}
    failed: dict[str, BaseException] = {}

    def serve(source: str) -> Session:
        if source in failed:
            raise failed[source]
        if source not in opened:
            try:
                opened[source] = opener(write(source))
            except Exception as error:
                # One bad server fails all its tests, but is waited for only once.
                failed[source] = error
                raise
        return opened[source]

    yield serve
    for session in opened.values():
        if isinstance(session, HttpSession) and session.server.popen.poll() is None:
            list_everything(session.server)
        session.close()
    _check()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Serves each module's servers over the transports that are due."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if "serve" in metafunc.fixturenames and not hasattr(metafunc.module, "serve"):
        due = ["http", "stdio", "direct", *["asgi"] * (module in WITHIN_ASGI)]
        metafunc.parametrize("serve", due, indirect=True, scope="module")
    if "serve_process" in metafunc.fixturenames:
        due = ["http", "stdio", *["asgi"] * (module in PROCESSES_WITHIN_ASGI)]
        metafunc.parametrize("serve_process", due, indirect=True, scope="module")


@pytest.fixture(scope="module")
def serve(request: pytest.FixtureRequest, write_app: Callable[[str], Path]) -> Iterator[Serve]:
    """Serves a source over every transport in turn; one server per source and module."""
    yield from _serve(TRANSPORTS[request.param], write_app)


@pytest.fixture(scope="module")
def serve_process(
    request: pytest.FixtureRequest, write_app: Callable[[str], Path]
) -> Iterator[Serve]:
    """The same for what needs a process of its own: tools that print, exit, or block."""
    yield from _serve(TRANSPORTS[request.param], write_app)
