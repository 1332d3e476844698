"""The certificates that SSL_CERT_FILE and SSL_CERT_DIR name: used, and what is wrong with them told."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.certificates import VARIABLES, certificates_named
from tests.harness import running_gateway, the
from tests.product import Settings, SettingsError

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, in one file with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a company")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path / "company.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return path


@asynccontextmanager
async def endpoint(certificate: Path) -> AsyncGenerator[str]:
    """An endpoint over TLS that refuses everything in words of its own."""
    body = b'{"type":"error","error":{"type":"invalid_request_error","message":"heard over TLS"}}'

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("kind", ["it", "nothing", "a file that is not there", "no certificate"])
async def test_the_models_endpoint_is_checked_by_it(
    settings: Settings,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    """With the company's certificate the endpoint is heard. A path where there is none is named at the start,
    and in what the person reads."""
    missing, junk = certificate.parent / "missing.pem", certificate.parent / "junk.pem"
    junk.write_text("no certificate")
    paths = {"it": certificate, "a file that is not there": missing, "no certificate": junk}
    if (path := paths.get(kind)) is not None:
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
    async with endpoint(certificate) as url:
        once = settings.model_copy(
            update={"anthropic_base_url": url, "model_attempts": 1, "log_level": "warning"}
        )
        async with running_gateway(once) as client:
            failed = the(await client.chat("hello"), "error")["message"]
    logged = capsys.readouterr().err

    assert ("heard over TLS" in failed) == (kind == "it"), failed
    named = path is not None and f"SSL_CERT_FILE names {path}" in failed
    assert named == (kind in {"a file that is not there", "no certificate"}), failed
    assert ("variable_without_effect" in logged and str(path) in logged) == named


@pytest.mark.parametrize("name", VARIABLES)
def test_what_is_not_there_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable and the path."""
    monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    with pytest.raises(SettingsError, match=rf"{name} names .*nowhere, and there is no such"):
        certificates_named()


def test_a_folder_of_certificates_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL looks into it when it needs one; without either variable the system's count."""
    assert certificates_named() is None
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert isinstance(certificates_named(), ssl.SSLContext)
    monkeypatch.setenv("SSL_CERT_DIR", "")
    assert certificates_named() is None
