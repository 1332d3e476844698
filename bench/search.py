"""How soon a search while typing answers, and what its index takes: `python -m bench.search [CHATS]`.

So many chats of five turns, of a vocabulary that follows Zipf's law, English and Chinese, are indexed as the
gateway does it, and asked for every beginning of common and rare words.
"""

import asyncio
import random
import statistics
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path

from gateway.lexical import indexed
from gateway.storage.sessions.search import words_of_query
from gateway.storage.sessions.unindexed import Fresh
from gateway.storage.sqlite.session_search import Fts5TurnWords
from gateway.storage.sqlite.sqlite_database import SqliteDatabase

TURNS, WORDS, VOCABULARY = 5, 160, 20_000
SYLLABLES = [
    f"{begin}{end}" for begin in ("in", "te", "ku", "po", "th", "re", "de", "st") for end in "rlntsmb"
]
"""Few of them, so that many words begin alike: harder than a language."""
CHINESE = (
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对小多"
)


def vocabulary(seed: random.Random) -> list[str]:
    """The commonest first."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        chinese = seed.random() < 0.3
        part, most = (CHINESE, 2) if chinese else (SYLLABLES, 5)
        words["".join(seed.choice(part) for _ in range(seed.randint(2, most)))] = None
    return list(words)


async def measure(chats: int, folder: Path) -> None:
    seed, index = random.Random(1), Fts5TurnWords()
    words = vocabulary(seed)
    weights = list(accumulate(1 / (rank + 5) for rank in range(len(words))))
    written = 0
    async with await SqliteDatabase.open(folder / "gateway.db") as database:
        began = time.process_time()
        for first in range(0, chats, 100):
            fresh: list[Fresh] = []
            for number in range(first, min(first + 100, chats)):
                texts = [" ".join(seed.choices(words, cum_weights=weights, k=WORDS)) for _ in range(TURNS)]
                written += sum(len(text.encode()) for text in texts)
                one = Fresh(f"s{number}", ("ann", 0, 0), None, [], None, TURNS, TURNS, TURNS)
                one.words = {f"t{at}": set(indexed(text)) for at, text in enumerate(texts)}
                fresh.append(one)
            await database.write(
                lambda connection, fresh=fresh: [index.add(connection, each, title=False) for each in fresh]
            )
        taken = time.process_time() - began
        size = (folder / "gateway.db").stat().st_size + (folder / "gateway.db-wal").stat().st_size
        print(
            f"{chats} chats of {TURNS} turns, {written / 1e6:.0f} MB of text: {size / 1e6:.0f} MB of index,"
        )
        print(f"made in {1000 * taken / chats:.1f} ms of CPU a chat")
        asked = {
            word[:end]
            for rank in (0, 3, 20, 100, 1000, 9000)
            for word in words[rank : rank + 3]
            for end in range(2, len(word) + 1)
        }
        times: list[tuple[float, str, int]] = []
        for query in sorted(asked):
            found = index.found(["ann"], words_of_query(query))
            start = time.perf_counter()
            rows = await database.search(lambda connection, found=found: connection.execute(found).fetchall())
            times.append((1000 * (time.perf_counter() - start), query, len(rows)))
        spent = sorted(each for each, _, _ in times)
        slowest, query, hits = max(times)
        print(
            f"{len(times)} beginnings: median {statistics.median(spent):.1f} ms, p95 "
            f"{spent[int(0.95 * len(spent))]:.1f} ms, slowest {slowest:.1f} ms ({query!r}, {hits} chats)"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as made:
        asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, Path(made)))
