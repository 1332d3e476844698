"""A file that is sent in another way than it is taken: a 400 that tells how, in plain words."""

import pytest

from tests.api.artifacts import problem
from tests.harness import Client

pytestmark = pytest.mark.anyio


async def test_a_form_is_refused_with_how_to_send_the_file(client: Client) -> None:
    """400, whatever the form's file is; with raw=1 it is a content as others are."""
    form = {"content-type": "multipart/form-data; boundary=x"}
    head = 'content-disposition: form-data; name="file"; filename="笔记.txt"'
    body = f"--x\r\n{head}\r\n\r\n一\r\n--x--\r\n".encode()

    refused = await client.http.post("/api/artifacts", content=body, headers=form)
    asked = await client.http.post("/api/artifacts?raw=1", content=body, headers=form)

    assert problem(refused) == (400, "invalid_request")
    assert "--data-binary @notes.txt" in refused.json()["error"]["message"]
    assert (asked.status_code, asked.json()["size"]) == (201, len(body))


async def test_a_wrong_attachment_is_told_in_plain_words(client: Client) -> None:
    """What it must be, not which pattern it does not match."""
    for attachment, message in (
        ({"ref": "ART-1"}, "attachments.0.ref: must be the reference of an artifact, such as ART-0h4k2m7qxz"),
        ({"name": "a", "text": ""}, "attachments.0.text: must not be empty"),
        ({"name": "a", "data": ""}, "attachments.0.data: must not be empty"),
    ):
        answer = await client.post("/api/chat", {"message": "看", "attachments": [attachment]})
        assert problem(answer) == (400, "invalid_request")
        assert answer.json()["error"]["message"] == message
