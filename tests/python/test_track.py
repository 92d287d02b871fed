"""`context.track`: what is reported of a loop, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo import Cancelled
from snodo._track import track


class Watched:
    """A context that notes what it is told; cancelled after so many reports."""

    def __init__(self, until: int | None = None) -> None:
        self.reports: list[tuple[Any, ...]] = []
        self.until = until

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.reports.append((done, total, message))

    def check_cancelled(self) -> None:
        if self.until is not None and len(self.reports) >= self.until:
            raise Cancelled


def plain(numbers: list[int]) -> Iterator[int]:
    yield from numbers


async def late(numbers: list[int]) -> AsyncIterator[int]:
    for number in numbers:
        yield number


def looped(context: Any, items: Any, *options: Any, with_async: bool) -> list[Any]:
    if not with_async:
        return list(track(context, items, *options))

    async def loop() -> list[Any]:
        return [item async for item in track(context, items, *options)]

    return asyncio.run(loop())


@pytest.mark.parametrize("with_async", [False, True])
@given(numbers=st.lists(st.integers(), max_size=5))
def test_every_item_comes_and_is_reported_when_it_is_done(
    numbers: list[int], with_async: bool
) -> None:
    context = Watched()
    assert looped(context, numbers, with_async=with_async) == numbers
    whole = len(numbers)
    assert context.reports == [(done, whole, None) for done in range(1, whole + 1)]


@pytest.mark.parametrize(("make", "with_async"), [(plain, False), (plain, True), (late, True)])
def test_items_that_do_not_know_their_number_have_no_total(make: Any, with_async: bool) -> None:
    context = Watched()
    assert looped(context, make([7, 8]), with_async=with_async) == [7, 8]
    assert context.reports == [(1, None, None), (2, None, None)]


def test_a_total_and_a_message_are_passed_on() -> None:
    context = Watched()
    assert looped(context, plain([1]), 10, "copying", with_async=False) == [1]
    assert context.reports == [(1, 10, "copying")]
    looped(context, [1], 0.5, with_async=False)
    assert context.reports[1] == (1, 0.5, None)


@pytest.mark.parametrize(
    ("make", "with_async"), [(list, False), (plain, False), (list, True), (late, True)]
)
@pytest.mark.parametrize("until", [0, 1, 2])
def test_the_loop_is_left_when_nobody_waits(make: Any, with_async: bool, until: int) -> None:
    context = Watched(until)
    seen: list[int] = []

    def loop() -> None:
        for item in track(context, make([1, 2, 3])):  # type: ignore[arg-type]
            seen.append(item)

    async def late_loop() -> None:
        async for item in track(context, make([1, 2, 3])):  # type: ignore[arg-type]
            seen.append(item)

    with pytest.raises(Cancelled):
        asyncio.run(late_loop()) if with_async else loop()
    assert len(seen) == until


def test_an_item_that_is_left_early_is_not_reported() -> None:
    context: Any = Watched()
    for item in track(context, [1, 2, 3]):
        if item == 2:
            break
    assert context.reports == [(1, 3, None)]


def test_asynchronous_items_need_async_for() -> None:
    context: Any = Watched()
    with pytest.raises(TypeError, match="write `async for`"):
        iter(track(context, late([1])))


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (5, r"track takes what can be looped over, not an int: range\(5\)\?"),
        (None, "track takes what can be looped over, not None"),
        (late, "track takes what can be looped over, not a function: call it?"),
        (object(), "track takes what can be looped over, not object"),
    ],
)
def test_what_is_no_loop_is_refused_where_it_is_given(items: Any, words: str) -> None:
    context: Any = Watched()
    with pytest.raises(TypeError, match=words):
        track(context, items)


def test_a_sequence_of_old_is_looped_over() -> None:
    class Old:
        def __getitem__(self, index: int) -> int:
            if index > 1:
                raise IndexError
            return index

    items: Any = Old()
    assert looped(Watched(), items, with_async=False) == [0, 1]
    assert looped(Watched(), items, with_async=True) == [0, 1]
