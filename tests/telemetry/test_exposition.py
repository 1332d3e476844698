"""What /metrics says, and in which words."""

import re
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

import gateway
from gateway.events.session_changes import Compression
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exposition import Exposition, family_of, prometheus_name
from gateway.telemetry.metrics.instrument_table import INSTRUMENTS, Instrument
from gateway.telemetry.turn_facts import SessionArchived
from tests.product import Usage
from tests.telemetry.counting import Counting
from tests.telemetry.prometheus import needs_prometheus, promtool
from tests.telemetry.story import TRACE_ID, Story, with_tools
from tests.telemetry.test_metrics import failing

OPENMETRICS = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75"


def everything() -> Counting:
    """Every instrument has recorded something."""
    usage = Usage(input_tokens=1, output_tokens=1)
    summed = Compression(phase="completed", trigger="manual", usage=usage, cost=0.5, duration_ms=10)
    compressed = Story("c_1").notify(summed)
    counting = Counting(genai_compat="dup").count(with_tools(), failing(), compressed)
    for kind in ("live", "resume", "replay"):
        stream = counting.streams.opened(kind, head=0, accepted_at=1)
        stream.sending(with_tools().events)
        stream.closed("client")
    metrics = counting.metrics
    metrics.observe(table.QUEUE_DEPTH, lambda: 3)
    metrics.observe(table.LOG_READERS, lambda: 2)
    metrics.observe_export(lambda: 1, lambda: 4)
    metrics.loop.late(0.001)
    metrics.log.flushed(5, 0.002, failed=True)
    metrics.requests.ended("GET", "/healthz", 200, 0.001)
    for reader in metrics.readers:
        reader.archived(SessionArchived("s_1", 1, 2))
    return counting


def test_every_metric_is_parsed_and_described() -> None:
    """prometheus_client's parsers take both forms, and each of our metrics says what it is."""
    counting = everything()
    body, content_type = counting.metrics.exposition.render(OPENMETRICS)

    plain = {family.name.removesuffix("_info") for family in text_string_to_metric_families(counting.text)}
    open_ = {family.name: family for family in parse_openmetrics(body.decode())}

    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert plain == {name.removesuffix("_info") for name in open_}
    assert all(family.documentation for family in open_.values())
    assert {"gateway_compressions", "gateway_event_loop_lag_seconds"} <= open_.keys()
    assert {"gateway_turns", "gateway_log_readers", "process_resident_memory_bytes", "target"} <= open_.keys()
    assert open_["gateway_stream_delivery_lag_seconds"].unit == "seconds"


def test_a_series_has_the_labels_that_the_table_of_instruments_says() -> None:
    """The documentation lists them."""
    series = everything().text
    for each in INSTRUMENTS:
        family = family_of(each.name, each.unit, each.description, "gauge").name
        found = re.findall(rf"^{family}(?:_total|_count)?{{(.*)}} ", series, re.MULTILINE)
        labels = {label for line in found for label in re.findall(r'(\w+)="', line)}
        assert labels <= {prometheus_name(label) for label in each.labels}, each.name


def test_no_instrument_stands_in_the_table_alone() -> None:
    """Each is recorded somewhere."""
    code = "\n".join(file.read_text() for file in Path(gateway.__file__).parent.rglob("*.py"))
    named = {name for name, found in vars(table).items() if isinstance(found, Instrument)}
    assert named <= set(re.findall(r"\btable\.([A-Z_]+)", code))


@needs_prometheus
def test_promtool_has_nothing_to_say() -> None:
    """Names, units and help texts are as Prometheus wants them."""
    assert promtool("check", "metrics", given=everything().text) == (0, "")


def test_histograms_carry_an_example_of_each_bucket() -> None:
    """In OpenMetrics a bucket names a trace that fell into it, at every scrape; the text format has none."""
    counting = Counting().count(with_tools())
    exposition = counting.metrics.exposition

    scrapes = [exposition.render(OPENMETRICS)[0].decode() for _ in range(2)]

    for text in scrapes:
        examples = {
            sample.name: (sample.labels["le"], sample.exemplar)
            for family in parse_openmetrics(text)
            for sample in family.samples
            if sample.exemplar is not None
        }
        bound, exemplar = examples["gen_ai_invoke_agent_duration_seconds_bucket"]
        assert (bound, exemplar.value) == ("0.2", 0.14)
        assert exemplar.labels == {"trace_id": TRACE_ID, "span_id": TRACE_ID[16:]}
        assert "gen_ai_execute_tool_duration_seconds_bucket" in examples
        assert "gen_ai_client_inference_time_to_first_chunk_seconds_bucket" in examples
    assert TRACE_ID not in counting.text


def test_what_must_not_be_an_example_is_counted_all_the_same() -> None:
    """Whoever knows that a trace is not kept says so, and no link leads nowhere."""
    from gateway.settings import load_settings
    from gateway.telemetry.metrics.registry import MetricsRegistry
    from gateway.telemetry.observer import Observer

    metrics = MetricsRegistry(load_settings(), Resource({}), exemplify=lambda _span, _turn: None)
    Observer(metrics.readers).observe("s_1", with_tools().events)

    text = metrics.exposition.render(OPENMETRICS)[0].decode()
    assert "gen_ai_invoke_agent_duration_seconds_count" in text
    assert "trace_id" not in text


def test_buckets_are_the_conventions() -> None:
    """The histograms have the advised buckets, so that dashboards of others fit."""
    text = everything().text

    for bucket in ('le="81.92"', 'le="409.6"', 'le="67108864.0"', 'le="128.0"', 'le="0.075"', 'le="0.001"'):
        assert bucket in text, bucket


def test_an_attribute_that_is_absent_is_no_label() -> None:
    """Series with and without an error are apart, and neither has an empty label."""
    text = everything().text

    assert 'error_type="upstream_timeout"' in text
    assert '=""' not in text


def test_what_a_server_asks_for_is_what_it_gets() -> None:
    """The text format for whoever names none or another, OpenMetrics for those who can read it."""
    exposition = Exposition(Resource({}))

    for accept in ("", "*/*", "text/html", "text/plain;version=0.0.4"):
        assert exposition.render(accept)[1] == "text/plain; version=0.0.4; charset=utf-8"
    assert exposition.render("application/openmetrics-text")[0].endswith(b"# EOF\n")


@pytest.mark.parametrize("unit", ["ms", "furlong"])
def test_a_unit_that_prometheus_has_no_word_for_is_found_by_the_tests(unit: str) -> None:
    """Rather than a metric whose name says nothing of its unit."""
    exposition = Exposition(Resource({}))
    exposition.meter.create_counter("gateway.odd", unit, "Odd.").add(1)

    with pytest.raises(KeyError, match=unit):
        exposition.render()
