"""Whether bytes are a text."""

import codecs

_BATCH = 65_536  # bytes that are taken at a time: a text of them takes four times as many
_MARK = "\ufffd".encode()
_DAMAGED_OF = 100
_MIN_CHARACTERS = 10  # characters for each damaged one
_MAX_DAMAGED = 10_000  # of a text of any length: each takes time
_CONTROLS = bytes({*range(1, 32), 127} - set(b"\t\n\f\r\x1b"))


class TextCheck:
    """Whether bytes that come in pieces are a text: UTF-8 in which at most one character of a hundred is
    damaged, as a wrong byte, a NUL, or a character that is cut off at the end is."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._end = b""  # of what came before: a replacement mark that was written may lie across pieces
        self._controls = self._characters = 0
        self.damaged = 0

    def take(self, data: bytes) -> None:
        for start in range(0, len(data), _BATCH):
            if self.damaged <= _MAX_DAMAGED:
                self._take(data[start : start + _BATCH])

    def is_text(self) -> bool:
        """After the last piece."""
        self.damaged += len(self._decoder.decode(b"", final=True))
        return not self.damaged or (
            self.damaged <= _MAX_DAMAGED
            and self.damaged + self._controls <= max(1, self._characters // _DAMAGED_OF)
            and self._characters >= _MIN_CHARACTERS * self.damaged
        )

    def _take(self, data: bytes) -> None:
        text = self._decoder.decode(data)
        with_end = self._end + data
        marks, self._end = with_end.count(_MARK), with_end[-len(_MARK) + 1 :]
        self._characters += len(text)
        self._controls += len(data) - len(data.translate(None, _CONTROLS))
        self.damaged += text.count("\ufffd") - marks + data.count(0)
