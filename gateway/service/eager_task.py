"""A coroutine that is begun at once, wherever that is, and finished by a task only if it has to wait."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class EagerTask(Awaitable[T], Generic[T]):
    """`work`, run up to its first wait. Awaited once, by a task, it goes on from there, and gives or raises
    what `work` does. What it does before its first wait must not ask for the current task."""

    __slots__ = ("_awaited", "_error", "_result", "_work")

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work: Coroutine[Any, Any, T] | None = None
        self._error: BaseException | None = None
        self._result: T | None = None
        try:
            self._awaited = work.send(None)
        except StopIteration as end:
            self._result = end.value
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - raised where it is awaited
            self._error = error
        else:
            self._work = work

    @property
    def result(self) -> T | None:
        """What `work` returned, if it needed no wait."""
        return self._result

    def __await__(self) -> Generator[Any, Any, T]:
        if self._error is not None:
            raise self._error
        if self._work is None:
            return self._result  # pyright: ignore[reportReturnType] - it is a T by now
        work, self._work = self._work, None
        return (yield from _rest_of(work, self._awaited))

    def close(self) -> None:
        """Ends `work` where it waits, unless it is awaited; its cleanup must not wait."""
        if self._work is not None:
            self._work.close()


def _rest_of(work: Coroutine[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Passes on what `work` waits for, beginning with `awaited`, and what comes of it: `yield from` for a
    coroutine that has begun."""
    while True:
        go_on: Callable[[], Any]
        try:
            go_on = partial(work.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001 - every exception that is thrown in here is meant for `work`
            go_on = partial(work.throw, error)
        try:
            awaited = go_on()
        except StopIteration as end:
            return end.value
