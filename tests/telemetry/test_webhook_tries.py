"""What is measured and drawn of posts to webhooks."""

from dataclasses import replace

from opentelemetry.trace import SpanKind

from gateway.ids import root_span_id, trace_id_of
from gateway.storage.webhooks import Delivery, DeliveryAttempt
from tests.telemetry.counting import Counting
from tests.telemetry.drawing import Drawing, attributes, milliseconds, place

DELIVERY = Delivery(7, "wh_a", "s_1", "t_1", "turn.finished", 1000, None, "pending", 2, 1000)
ARRIVED = DeliveryAttempt(DELIVERY, "delivered", 204, 61_000, 61_500)
DEAD = DeliveryAttempt(replace(DELIVERY, number=8, turn_id=None), "dead", None, 2000, 17_000)


def test_a_post_is_drawn_into_the_trace_of_the_turn_that_it_tells_of() -> None:
    """What is of no turn is a trace of its own; neither says where it went."""
    drawing = Drawing()
    for tried in (ARRIVED, DEAD):
        drawing.observer.notify(lambda reader, tried=tried: reader.webhook_tried(tried))

    arrived, dead = drawing.exporter.get_finished_spans()

    assert (arrived.name, arrived.kind, milliseconds(arrived)) == (
        "gateway.webhook",
        SpanKind.CLIENT,
        (61_000, 61_500),
    )
    assert arrived.parent is not None
    assert f"{place(arrived).trace_id:032x}" == trace_id_of("t_1")
    assert f"{arrived.parent.span_id:016x}" == root_span_id(trace_id_of("t_1"))
    assert attributes(arrived) == {
        "gateway.turn.id": "t_1",
        "gen_ai.conversation.id": "s_1",
        "session.id": "s_1",
        "gateway.webhook.event": "turn.finished",
        "gateway.webhook.attempt": 2,
        "gateway.webhook.outcome": "delivered",
        "http.response.status_code": 204,
    }
    assert dead.parent is None
    assert attributes(dead)["error.type"] == "_OTHER"


def test_posts_are_counted_by_what_came_of_them_and_by_when_they_arrived() -> None:
    counting = Counting()
    for tried in (ARRIVED, DEAD):
        counting.observer.notify(lambda reader, tried=tried: reader.webhook_tried(tried))

    of_turn = {"gateway_webhook_event": "turn.finished"}
    duration = "gateway_webhook_duration_seconds"
    arrived, dead = ({**of_turn, "gateway_webhook_outcome": each} for each in ("delivered", "dead"))
    assert counting.value(f"{duration}_count", arrived) == 1
    assert counting.value(f"{duration}_sum", dead) == 15
    assert counting.value("gateway_webhook_delay_seconds_sum") == 60.5
