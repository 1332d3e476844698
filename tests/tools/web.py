"""A small web: names that lead to public addresses, all of them played by one server on 127.0.0.1."""

import asyncio
import datetime
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from cryptography import x509  # comes with moto
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.tools.fetch.fetcher import Fetcher
from gateway.tools.fetch.guarded_requests import way_out

PUBLIC = "93.184.215.14"


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A whole response; `content_type="text/html"` becomes the header content-type."""
    given = {"content_type": "text/plain; charset=utf-8", "content_length": str(len(body)), **headers}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items() if value]
    return f"HTTP/1.1 {status}\r\n{''.join(lines)}\r\n".encode() + body


def moved(to: str, status: str = "302 Found") -> bytes:
    """A redirect."""
    return answer(status=status, location=to)


class Web(httpx2.AsyncBaseTransport):
    """`names` lead to addresses: one list for each time they are asked for, the last one for ever. `pages`
    are by path; one that begins with /endless goes on until the reader leaves, at /silent nothing more comes,
    and after /kept the connection may be used again. It is the transport of a Fetcher, too: whatever address
    is dialled, the server on 127.0.0.1 answers, but for those it `refuses`."""

    def __init__(self, trusted: ssl.SSLContext | None = None) -> None:
        self.names: dict[str, list[Sequence[str]]] = {"news.example": [[PUBLIC]]}
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.dialled: list[str] = []
        self.requests: list[str] = []
        self.refuses: set[str] = set()
        self.accepted = 0
        self.port = 0
        self.inner = way_out(trusted or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self.fetcher = Fetcher(self.resolve, self)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.names.get(host)
        if not answers:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.dialled.append(request.url.host)
        if request.url.host in self.refuses:
            raise httpx2.ConnectError("refused")
        here = request.url.copy_with(host="127.0.0.1", port=self.port)
        return await self.inner.handle_async_request(
            httpx2.Request("GET", here, headers=request.headers, extensions=request.extensions)
        )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            while (await self._answer(reader, writer)).startswith("/kept"):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the reader has left
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        path = head.split()[1]
        writer.write(self.pages.get(path, answer(status="404 Not Found")))
        while path.startswith("/endless"):
            writer.write(b"x" * 65536)
            await writer.drain()
        if path.startswith("/silent"):
            await reader.read()
        return path


@asynccontextmanager
async def serving(
    tls: ssl.SSLContext | None = None, trusted: ssl.SSLContext | None = None
) -> AsyncGenerator[Web]:
    """A web that can be fetched from through its `fetcher`; with `tls` it is spoken to by https."""
    web = Web(trusted)
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        await web.inner.aclose()
        server.close()
        await server.wait_closed()


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For a server that is called `name`, and for a client that trusts whoever signed that."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = signed.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(pem + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem")
    return server, ssl.create_default_context(cadata=pem.decode())
