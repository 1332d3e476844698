"""The files of a message in its body."""

import base64
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from gateway.artifacts.attached_files import Upload
from gateway.http.json_types import Base64, Body, FileName, FileText, Mime, artifact_ref, no_nul, not_blank
from gateway.ids import ARTIFACT_PATTERN

Ref = Annotated[
    str,
    AfterValidator(artifact_ref),
    Field(description="An artifact of yours.", json_schema_extra={"pattern": f"^{ARTIFACT_PATTERN}$"}),
]


def _not_blank_alone(text: str, others: ValidationInfo) -> str:
    """Raises ValueError."""
    return no_nul(text) if others.data.get("attachments", ()) else not_blank(text)


WordsBesideFiles = Annotated[str, AfterValidator(_not_blank_alone)]
"""What is said with `attachments`, a field before this one: without any it is not blank."""


class AttachmentBody(Body):
    """A file that goes with a message: `ref` names an artifact, `name` with `text` or `data` brings it along.
    What is larger than a body may be is uploaded as an artifact first."""

    ref: Ref | None = None
    name: FileName | None = None
    text: FileText | None = None
    data: Base64 | None = None
    mime: Mime | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        brought = self.model_fields_set - {"ref"}
        if self.ref is not None and brought:
            raise ValueError(f"with a ref leave out {', '.join(sorted(brought))}: the artifact has its own")
        if self.ref is None and (self.name is None or (self.text is None) == (self.data is None)):
            raise ValueError("give a ref, or a name with either text or data")
        return self

    def given(self) -> str | Upload:
        """The reference, or the file."""
        if self.ref is not None:
            return self.ref
        data = self.text.encode() if self.text is not None else base64.b64decode(self.data or "")
        return Upload(data, self.name or "", self.mime)
