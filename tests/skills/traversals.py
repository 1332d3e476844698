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
_ROUNDABOUT = [
    *("", "./", "././", "references/../", "./references/../", "references/.././", "references//../"),
    *("references/../references/../", "../月报/", "../月报/references/../", "../../skills/月报/"),
    "references/deep/../../",
]
_OUTSIDE = ["../secret.md", "../../secret.md", "../other/SKILL.md", "../../.env"]
LEADING: dict[str, list[str]] = {
    "no part of the path may be empty or begin with a dot": [
        *(way + target for way in _ROUNDABOUT for target in _OUTSIDE),
        *(".env", ".git/config", "./.env", "references/.hidden", "references//格式.md", "./.git/../.env"),
        *("references/./格式.md", ".git/../../other/SKILL.md"),
    ],
    "the path is not relative to the skill's folder": [
        *(
            "/etc/passwd",
            "//etc/passwd",
            "///etc/passwd",
            "/./etc/passwd",
            "/../etc/passwd",
            "/usr/../etc/passwd",
        ),
        *("/etc//passwd", "/etc/./passwd", "/etc/../etc/passwd", "/proc/self/root/etc/passwd"),
        *("/proc/self/environ", "/proc/self/status", "/dev/zero", "/dev/urandom", "~/secret.md"),
    ],
    "the path has a character that is not allowed": [
        *(
            "..\\secret.md",
            "..\\..\\secret.md",
            "\\etc\\passwd",
            "C:secret.md",
            "C:\\secret.md",
            "notes.txt:stream",
        ),
        *("notes.txt\n", "..\r/secret.md", ".\x1b./secret.md", ".\u200b./secret.md", "\u202e../secret.md"),
        *("a\ufe0f.md", "\u3164.md", "notes\U000e0100.txt", "*", "|id"),
    ],
    "it leads out of the folder": [
        *(
            "link-to-file",
            "link-to-folder/secret.md",
            "link-up/secret.md",
            "link-absolute",
            "link-proc/environ",
        ),
        *("references/again/secret.md", "link-up/other/SKILL.md", "./link-to-file", "links/again/secret.md"),
    ],
}
"""Paths that open something when they are only put behind the folder, by the reason that must hold them."""
OTHERS = [
    *UPWARDS,
    *ABSOLUTE,
    *OF_OTHER_SYSTEMS,
    *WITH_CONTROLS,
    *ENCODED,
    *HIDDEN_OR_NO_FILE,
    *TRAPPED,
]
TRAVERSALS = {
    **dict.fromkeys(OTHERS, ""),
    **{path: reason for reason, paths in LEADING.items() for path in paths},
}
"""Each path, and why it is refused; "" where the way does not matter, since there is nothing at its end."""


def plant_traps(home: Path) -> socket.socket:
    """What the paths in LEADING name, links that lead out of the folder, and things that are no files."""
    for path in (home.parent / "secret.md", home.parent.parent / ".env", home / "references" / ".hidden"):
        path.write_text(SECRET)
    for folder in (home.parent / "other", home / "references" / "deep", home / "~"):
        folder.mkdir()
    (home.parent / "other" / "SKILL.md").write_text(SECRET)
    for name in ("~/secret.md", *LEADING["the path has a character that is not allowed"]):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(SECRET)
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
