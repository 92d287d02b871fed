"""What the parent of several workers decides, turn by turn. The processes are made up."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from snodo._fleet import Fleet, _Place


class Log:
    """Keeps what people are told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str, *, warning: bool) -> None:
        self.said.append(line)


class Running:
    """A process that does nothing of what it is told."""

    pid = 7

    def __init__(self) -> None:
        self.told: list[str] = []

    def poll(self) -> None:
        return None

    def terminate(self) -> None:
        self.told.append("terminate")

    def kill(self) -> None:
        self.told.append("kill")


class NoWatcher:
    def changed(self) -> list[str]:
        return []


def made(count: int = 3, watcher: Any = None) -> tuple[Fleet, list[Any], Log]:
    """A fleet whose workers all serve."""
    log: Any = Log()
    fleet = Fleet([], count, -1, "", log, watcher)
    processes: list[Any] = []
    for place in fleet._places:
        place.process = process = Running()  # type: ignore[assignment]
        place.is_up = place.was_up = True
        processes.append(process)
    return fleet, processes, log


def turn(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "_pause", lambda: 0)
    fleet._turn(-1)


@pytest.mark.parametrize("failures", [20, 1023, 1024, 100_000])
def test_the_wait_for_the_next_worker_has_an_end(failures: int) -> None:
    fleet, _, _ = made()
    place = fleet._places[0]
    place.failures = failures
    fleet._failed(place, "it failed", 100.0)
    assert place.due == 110.0


@pytest.mark.parametrize(("lived", "wait"), [(4.9, 0.4), (5.0, 0.0)])
def test_one_that_served_for_a_while_is_replaced_at_once(lived: float, wait: float) -> None:
    fleet, _, _ = made()
    place = fleet._places[0]
    place.begun, place.failures = 100.0, 1
    fleet._ended(place, -9, 100.0 + lived)
    assert place.due == pytest.approx(100.0 + lived + wait)


def test_no_second_worker_is_replaced_before_the_first_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fleet, processes, _ = made()
    fleet._signalled(signal.SIGHUP)
    for _ in range(3):
        turn(fleet, monkeypatch)
    assert [process.told for process in processes] == [["terminate"], [], []]


def test_sighup_is_done_when_the_last_one_serves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "snodo")
    fleet, _, _ = made(2)
    monkeypatch.setattr(fleet, "_start", lambda place, now: None)
    turn(fleet, monkeypatch)
    fleet._signalled(signal.SIGHUP)
    for place in fleet._places:
        turn(fleet, monkeypatch)
        assert place.leaving
        fleet._ended(place, 0, 100.0)
        turn(fleet, monkeypatch)
        assert len(caplog.messages) == 1, "one of them does not serve"
        place.process, place.is_up, place.leaving = Running(), True, False  # type: ignore[assignment]
    turn(fleet, monkeypatch)
    turn(fleet, monkeypatch)
    assert caplog.messages[1:] == ["SIGHUP: all 2 workers are replaced"]


@pytest.mark.parametrize(
    ("count", "watcher", "said"),
    [
        (3, None, "replacing each of the 3 workers, one after the other"),
        (1, NoWatcher(), "replacing the worker"),
    ],
)
def test_sighup_says_what_it_does(
    caplog: pytest.LogCaptureFixture, count: int, watcher: Any, said: str
) -> None:
    caplog.set_level("INFO", "snodo")
    fleet, processes, _ = made(count, watcher)
    fleet._signalled(signal.SIGHUP)
    fleet._signalled(signal.SIGHUP)
    fleet._listening = os.dup(0)
    fleet._signalled(signal.SIGTERM)
    rolling = fleet._rolling
    fleet._signalled(signal.SIGHUP)
    assert fleet._rolling is rolling, "nothing is replaced any more"
    fleet._signalled(signal.SIGTERM)
    assert caplog.messages == [
        f"SIGHUP: {said}",
        f"SIGHUP: {said}, beginning anew",
        "SIGHUP is ignored: the workers end",
        "a second signal: the workers are ended at once",
    ]
    assert all(process.told[-1] == "kill" for process in processes)


def test_a_worker_that_hangs_is_killed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fleet, processes, _ = made()
    place = fleet._places[0]
    place.draining = 1.0
    fleet._replace(place, 0.0)
    assert place.overdue is not None
    assert 1.0 < place.overdue < 10.0
    turn(fleet, monkeypatch)
    assert processes[0].told == ["terminate", "kill"]
    assert "worker 7 hangs" in caplog.text


def test_so_it_is_when_all_are_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, processes, _ = made()
    fleet._listening = os.dup(0)
    fleet._signalled(signal.SIGTERM)
    assert all(place.overdue is not None for place in fleet._places)
    for place in fleet._places:
        place.overdue = 0.0
    turn(fleet, monkeypatch)
    assert [process.told for process in processes] == [["terminate", "kill"]] * 3


def test_further_changes_grant_an_old_version_no_more_time() -> None:
    fleet, _, _ = made(1, NoWatcher())
    place: _Place = fleet._places[0]
    fleet._replace(place, 0.0)
    first = place.overdue
    fleet._replace(place, 1.0)
    assert place.overdue == first


def test_what_is_served_is_said_though_one_cannot_start() -> None:
    fleet, _, log = made(2)
    other = fleet._places[1]
    other.process, other.is_up, other.was_up = None, False, False
    fleet._lines = [("it on http://", False)]
    fleet._say()
    assert not log.said, "it is not known yet whether the other one serves"
    fleet._failed(other, "it failed", 0.0)
    fleet._failed(other, "it failed", 1.0)
    assert log.said == ["it on http://, 2 workers"]
