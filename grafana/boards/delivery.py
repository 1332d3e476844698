"""Event streams, requests, and the process that serves them."""

from panels import Board, Row, graph, quantile, rate

KIND = "gateway_stream_kind"
REASON = "gateway_reason"

_streams = Row(
    "Streams",
    [
        graph(
            "Open streams",
            "live follow a running turn, resume came back with a cursor, replay read what is over.",
            "short",
            {f"{{{{{KIND}}}}}": f"sum by ({KIND}) (gateway_stream_active{{@}})"},
            stacked=True,
        ),
        graph(
            "Streams opened",
            "Many resumes mean that connections break: a proxy's timeout, or a mobile network.",
            "cpm",
            {f"{{{{{KIND}}}}}": f"{rate('gateway_stream_opened_total', KIND)} * 60"},
            stacked=True,
        ),
        graph(
            "Streams ended by reason",
            "client is a reader that left, slow one that took nothing for too long and was dropped.",
            "cpm",
            {f"{{{{{REASON}}}}}": f"{rate('gateway_stream_disconnects_total', REASON)} * 60"},
            stacked=True,
        ),
        graph(
            "Turns and their readers",
            "Turns go on when nobody reads: more turns than live and resumed streams are turns without a reader.",
            "short",
            {
                "turns": "sum(gateway_turn_active{@})",
                "live and resumed streams": f'sum(gateway_stream_active{{@,{KIND}=~"live|resume"}})',
            },
        ),
        graph(
            "Events ready at a write, p99",
            "How far readers are behind. Replays read whole pages and are left out.",
            "short",
            {f"{{{{{KIND}}}}}": quantile(0.99, "gateway_stream_backlog", KIND, where=f'{KIND}!="replay"')},
        ),
        graph(
            "Slow readers dropped",
            "They lose nothing: they resume by their cursor.",
            "cpm",
            {"dropped": f"{rate('gateway_stream_slow_consumer_drops_total')} * 60"},
        ),
        graph(
            "Resumes",
            "Streams that went on from a cursor.",
            "cpm",
            {"resumes": f"{rate('gateway_stream_resumes_total')} * 60"},
            width=12,
        ),
        graph(
            "Events sent by type",
            "To all readers.",
            "cps",
            {"{{gateway_event_type}}": rate("gateway_stream_events_sent_total", "gateway_event_type")},
            stacked=True,
            width=12,
        ),
    ],
)

_requests = Row(
    "Requests",
    [
        graph(
            "Requests by status",
            "Event streams are not in it: they last as long as their readers stay.",
            "reqps",
            {
                "{{http_response_status_code}}": rate(
                    "http_server_request_duration_seconds_count", "http_response_status_code"
                )
            },
            stacked=True,
            width=12,
        ),
        graph(
            "Request time by route, p95",
            "Event streams are not in it.",
            "s",
            {"{{http_route}}": quantile(0.95, "http_server_request_duration_seconds", "http_route")},
            width=12,
        ),
    ],
)

_process = Row(
    "Process and pipeline",
    [
        graph(
            "Event loop lag",
            "How late timers run. All streams wait as long: beyond 50 ms there is too much work for one process.",
            "s",
            {
                "p50": quantile(0.5, "gateway_event_loop_lag_seconds"),
                "p99": quantile(0.99, "gateway_event_loop_lag_seconds"),
            },
        ),
        graph(
            "Log writes",
            "One transaction of the event log. No event is seen before it: a slow disk shows here first.",
            "s",
            {
                "p50": quantile(0.5, "gateway_log_flush_duration_seconds"),
                "p99": quantile(0.99, "gateway_log_flush_duration_seconds"),
            },
        ),
        graph(
            "Events per log write",
            "Mean. Under load one transaction takes the events of many turns.",
            "short",
            {"mean": f"{rate('gateway_log_flush_events_sum')} / {rate('gateway_log_flush_events_count')}"},
        ),
        graph(
            "Failed log writes",
            "Anything but 0 is a full disk or a broken one.",
            "cpm",
            {"failed": f"{rate('gateway_log_flush_failures_total')} * 60"},
        ),
        graph(
            "Memory",
            "Resident memory of the process.",
            "bytes",
            {"{{instance}}": "process_resident_memory_bytes{@}"},
        ),
        graph(
            "CPU",
            "Cores in use. One process uses little more than one.",
            "short",
            {"{{instance}}": "rate(process_cpu_seconds_total{@}[$__rate_interval])"},
        ),
        graph(
            "Garbage collections",
            "By generation; many of generation 2 cost latency.",
            "cpm",
            {"{{generation}}": f"{rate('python_gc_collections_total', 'generation')} * 60"},
        ),
        graph(
            "Open files",
            "Share of what the process may open. Every stream is one.",
            "percentunit",
            {"{{instance}}": "process_open_fds{@} / process_max_fds{@}"},
        ),
        graph(
            "Readers of the log",
            "Streams and exports that follow a session.",
            "short",
            {"{{instance}}": "gateway_log_readers{@}"},
        ),
        graph(
            "Telemetry that was lost",
            "Spans that no collector will get, while traces are exported.",
            "cpm",
            {"spans dropped": f"{rate('gateway_telemetry_spans_dropped_total')} * 60"},
            width=12,
        ),
        graph(
            "Failed exports",
            "Attempts to send spans or metrics to a collector that failed.",
            "cpm",
            {
                "{{gateway_signal}}": f"{rate('gateway_telemetry_export_failures_total', 'gateway_signal')} * 60"
            },
            width=12,
        ),
    ],
)

DELIVERY = Board(
    "delivery",
    "Streams and process",
    "What readers get, and the process that serves them.",
    [_streams, _requests, _process],
)
