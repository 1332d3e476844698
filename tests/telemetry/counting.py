"""Everything that is measured, fed with stories, and what a scrape finds."""

from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from gateway.telemetry.metrics.registry import MetricsRegistry
from gateway.telemetry.observer import Observer
from tests.product import load_settings
from tests.telemetry.story import MODEL, Story

ENDPOINT = {"server_address": "model.example", "server_port": "8443"}
CHAT = {
    "gen_ai_operation_name": "chat",
    "gen_ai_provider_name": "anthropic",
    "gen_ai_request_model": MODEL,
    "gateway_purpose": "answer",
    **ENDPOINT,
}
TEXT = {**CHAT, "gen_ai_token_modality": "text"}
AGENT = {"gen_ai_agent_name": "support"}


class Counting:
    """An observer with nothing but metrics."""

    def __init__(self, turn_limit: int = 100, **settings: object) -> None:
        given = {"agent_name": "support", "anthropic_base_url": "https://model.example:8443", **settings}
        self.metrics = MetricsRegistry(load_settings(**given), Resource({"service.name": "chat-gateway"}))
        self.streams = self.metrics.streams
        self.observer = Observer(self.metrics.readers, turn_limit=turn_limit)

    def count(self, *stories: Story) -> "Counting":
        for story in stories:
            self.observer.observe(story.session_id, story.events)
        return self

    @property
    def text(self) -> str:
        body, content_type = self.metrics.exposition.render()
        assert content_type == "text/plain; version=0.0.4; charset=utf-8"
        return body.decode()

    @property
    def samples(self) -> list[Sample]:
        return [sample for family in text_string_to_metric_families(self.text) for sample in family.samples]

    def value(self, name: str, labels: Mapping[str, str] | None = None) -> float | None:
        """The value of the series with exactly these labels."""
        for sample in self.samples:
            if sample.name == name and sample.labels == (labels or {}):
                return sample.value
        return None
