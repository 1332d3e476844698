"""Turns that save, recall and lose memories; conversations that are learned from; a folder of documents, of
which one is spoilt; and an embeddings API that refuses some texts."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.harness import Client
from tests.loopback import served
from tests.memory.search.vector_server import VectorServer

REFUSED = "aubergine"
"""The embeddings API takes no text with this word."""
LIKES = "Please remember that I prefer a plain design style for logos."
ASKED = "What design style do I prefer, as I said last time?"
SAID = "My dog is called Argos. 我喜欢在周末去爬山。"


@asynccontextmanager
async def remembering(folder: Path) -> AsyncGenerator[dict[str, Any]]:
    """Settings of a gateway that these turns are told to; its documents are in `folder`."""
    write_documents(folder)
    server = VectorServer()
    server.poison = REFUSED
    async with served(server.app, lifespan=False) as url:
        yield {"embeddings_url": f"{url}/v1", "documents_dir": folder}


async def remembering_round(client: Client) -> list[dict[str, Any]]:
    """Every event of a turn that was told of a memory which is forgotten by then."""
    await client.chat(LIKES)
    session = await client.session()
    await client.chat(ASKED, session_id=session)
    await client.chat(
        '/call manage_memory {"action": "search", "search": "design style"}\n/then\n/say Found.'
    )
    await client.chat(f"As I said last time, which design style goes with an {REFUSED}?")
    for _ in range(2):  # the second time all is known
        learned = await client.post(
            "/api/memory/write", {"messages": [{"role": "user", "content": SAID}], "is_own": True}
        )
        assert learned.status_code == 200, learned.text
    found = (await client.get("/api/memory?limit=100")).json()["memories"]
    for memory in found:
        if "design" in memory["content"]:
            deleted = await client.http.delete(f"/api/memory/{memory['id']}")
            assert deleted.status_code in {200, 204}, deleted.text
    return await client.chat(ASKED, session_id=session)


def write_documents(folder: Path) -> None:
    """A document, and a file that is none."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "type": "reference",
        "content": "Logos: at most two colours.",
        "skill": "logo",
        "reference": "c",
    }
    (folder / "colours.json").write_bytes(orjson.dumps(document))
    (folder / "spoilt.json").write_text("{", encoding="utf-8")
