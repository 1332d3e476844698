"""Files are found by their names, by the rule of chats and memories."""

import pytest

from gateway.service import artifacts
from tests.harness import Client

pytestmark = pytest.mark.anyio


async def listed(client: Client, **query: str) -> list[str]:
    page = (await client.http.get("/api/artifacts", params=query)).json()
    return [each["name"] for each in page["artifacts"]]


async def test_files_are_found_while_one_types(client: Client) -> None:
    """By the beginning of the last word, parts of names and without accents; the newest first; of a kind."""
    for name in ("getUserReport.md", "café-menu.txt", "报告2024.txt", "kubernetes.csv"):
        text = "a,b\n1,2\n3,4\n" if name.endswith("csv") else f"# {name}\n\nwords"
        await client.post("/api/artifacts", {"text": text, "name": name})

    assert await listed(client, q="kuber") == ["kubernetes.csv"]
    assert await listed(client, q="user") == ["getUserReport.md"]
    assert await listed(client, q="cafe men") == ["café-menu.txt"]
    assert await listed(client, q="報告") == ["报告2024.txt"]
    assert await listed(client, q="zebra") == []
    assert await listed(client, kind="csv") == ["kubernetes.csv"]
    assert await listed(client, kind="csv", q="user") == []
    assert await listed(client, q="!!!") == []
    assert len(await listed(client)) == 4


async def test_a_search_of_many_files_goes_on_where_it_stopped(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many are looked through for one page; `next` leads on, and none comes twice."""
    monkeypatch.setattr(artifacts, "PAGE", 2)
    monkeypatch.setattr(artifacts, "MAX_READ", 4)
    for number in range(9):
        name = "zebra" if number % 3 == 0 else "other"
        await client.post("/api/artifacts", {"text": f"{number}", "name": f"{name}{number}.txt"})
    found: list[str] = []
    query = {"q": "zebra", "limit": "2"}
    while True:
        page = (await client.http.get("/api/artifacts", params=query)).json()
        found += [each["name"] for each in page["artifacts"]]
        if "next" not in page:
            break
        query["before"] = page["next"]

    assert found == ["zebra6.txt", "zebra3.txt", "zebra0.txt"]


@pytest.mark.parametrize("query", [{"q": ""}, {"q": "x" * 201}, {"kind": "film"}])
async def test_what_is_no_query_is_refused(client: Client, query: dict[str, str]) -> None:
    assert (await client.http.get("/api/artifacts", params=query)).status_code == 400
