"""The model's view of a session for reading it, in bounded memory for a session of any length."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from gateway.history.summaries.summary import render
from gateway.history.transcript import Folding, messages_for_model, user_message
from gateway.messages import Message
from gateway.storage.messages import StoredMessage
from gateway.storage.sessions import Outline
from gateway.storage.sessions.transcripts import Transcripts


async def messages_of(
    sessions: Transcripts, outline: Outline, *, without_turn: str | None = None
) -> AsyncGenerator[Sequence[Message]]:
    """`fold(view(history))` of an outline's history, a few messages at a time, without those of one turn.

    Raises:
        errors.NotFound: the session was deleted meanwhile.
        errors.ArchiveDamaged: an archive that holds some of them is missing or not what was written.
    """
    folding, history = Folding(), outline.history
    if (row := history.compression) is not None:
        folding.take([user_message(render(row.summary, row))])

    def folded(page: Sequence[StoredMessage]) -> Sequence[Message]:
        return folding.take(
            messages_for_model(history, [item for item in page if item.turn_id != without_turn])
        )

    async with aclosing(sessions.pages(outline)) as pages:
        async for page in pages:
            yield await asyncio.to_thread(folded, page)
    yield folding.end()
