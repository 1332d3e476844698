"""Paths that a model might try in order to leave a skill's folder, and the traps that lie in it."""

import os
import socket
from pathlib import Path

SECRET = "the secret outside 机密"

UPWARDS = [
    *("..", "../", "../secret.md", "../../secret.md", "../../../../../../../../etc/passwd", "./.."),
    *("references/..", "references/../..", "references/../../secret.md", "references/../../../secret.md"),
    *("./../secret.md", "././../../secret.md", ".//../secret.md", "references/./../../../secret.md"),
    *("references//../../secret.md", "references/.//.././../secret.md", "../月报/../../secret.md"),
    *("../月报/SKILL.md", "../../skills/月报/SKILL.md", "..././secret.md", ".../secret.md", "..../secret.md"),
    *("....//....//secret.md", "references/.../secret.md", "notes.txt/..", "notes.txt/../../secret.md"),
]
ABSOLUTE = [
    *("/", "//", "/etc/passwd", "//etc/passwd", "///etc/passwd", "/./etc/passwd", "/../etc/passwd"),
    *("/proc/self/environ", "/proc/self/cwd/secret.md", "/dev/zero", "/dev/stdin", "/dev/fd/0"),
    *(".//etc/passwd", "~", "~/secret.md", "~root/.ssh/id_rsa", "$HOME/secret.md", "${PWD}/../secret.md"),
]
OF_OTHER_SYSTEMS = [
    *("..\\secret.md", "..\\..\\secret.md", "references\\..\\..\\..\\secret.md", "\\etc\\passwd"),
    *("references/..\\..\\secret.md", "..\\/secret.md", "../\\secret.md", "C:\\secret.md", "C:/secret.md"),
    *(
        "c:secret.md",
        "C:",
        "\\\\host\\share\\x",
        "\\\\?\\C:\\secret.md",
        "\\\\.\\pipe\\x",
        "%HOME%/secret.md",
    ),
    *("notes.txt:stream", "notes.txt::$DATA", "file:///etc/passwd", "file://../secret.md"),
    *("http://127.0.0.1/secret.md", "data:text/plain,x"),
]
WITH_CONTROLS = [
    *("../secret.md\x00", "\x00../secret.md", "notes.txt\x00.md", "\x00", "references/\x00/../../secret.md"),
    *("../secret.md\n", "notes.txt\n", "\n../secret.md", "..\r/secret.md", "..\t/secret.md"),
    *(
        ".\x1b./secret.md",
        ".\u200b./secret.md",
        "..\u2028/secret.md",
        "\u202e../secret.md",
        "\ufeff../secret.md",
    ),
]
ENCODED = [
    *("%2e%2e/secret.md", "%2e%2e%2fsecret.md", "..%2fsecret.md", "..%5csecret.md", "%252e%252e/secret.md"),
    *(
        "..%c0%af..%c0%afsecret.md",
        "%2e%2e%5c%2e%2e%5csecret.md",
        "..%00/secret.md",
        "%u002e%u002e/secret.md",
    ),
    *("．．/secret.md", "．．／secret.md", "‥/secret.md", "…/secret.md", "。。/secret.md", "..∕secret.md"),
    *("..⁄secret.md", "..／secret.md", "..＼secret.md", "․․/secret.md"),
    *(". ./secret.md", ".. /secret.md", " ../secret.md", "../ secret.md"),
]
HIDDEN_OR_NO_FILE = [
    *(".env", ".git/config", "./.env", "references/.hidden", ".", "./", "./.", "references/", "references"),
    *("notes.txt/", "notes.txt/x", "references//格式.md", "missing.md", "MISSING/格式.md"),
    *("x" * 256, "x" * 257, "a/" * 120 + "b", "*", "?otes.txt", "notes.*", "|id", "<notes.txt"),
]
TRAPPED = [
    *("link-to-file", "link-to-folder/secret.md", "link-up/secret.md", "link-absolute", "link-loop"),
    *("link-nowhere", "links/again/secret.md", "link-proc/environ", "pipe", "socket"),
]
TRAVERSALS = UPWARDS + ABSOLUTE + OF_OTHER_SYSTEMS + WITH_CONTROLS + ENCODED + HIDDEN_OR_NO_FILE + TRAPPED


def plant_traps(home: Path) -> socket.socket:
    """Links that lead out of the folder, and things that are no files."""
    links = {
        "link-to-file": "../../secret.md",
        "link-to-folder": "../..",
        "link-up": "..",
        "link-absolute": str(home.parent.parent / "secret.md"),
        "link-loop": "link-loop",
        "link-nowhere": "nowhere",
        "link-proc": "/proc/self",
        "links": "link-hop",
        "link-hop": "references",
        "references/again": "../../..",
    }
    for name, target in links.items():
        (home / name).symlink_to(target)
    os.mkfifo(home / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    folder = os.open(home, os.O_RDONLY)
    listening.bind(f"/proc/self/fd/{folder}/socket")  # a socket's path is limited to some 100 bytes
    os.close(folder)
    return listening
