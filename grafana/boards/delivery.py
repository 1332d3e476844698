"""Event streams, requests, and the process that serves them."""

from panels import Board, Row, graph, legend, per_minute, quantile, quantiles, rate

KIND = "gateway_stream_kind"
REASON = "gateway_reason"
DIALECT = "gateway_dialect"
NATIVE, FOREIGN = f'{DIALECT}=""', f'{DIALECT}!=""'
FIRST = "gateway_client_time_to_first_event_seconds"
POOL = "gateway_pool"
TELEMETRY = "gateway_telemetry"

_streams = Row(
    "Streams",
    [
        graph(
            "Open streams",
            "live follow a running turn, resume came back with a cursor, replay read what is over.",
            "short",
            {legend(KIND): f"sum by ({KIND}) (gateway_stream_active{{@}})"},
            stacked=True,
        ),
        graph(
            "Streams opened",
            "Many resumes mean that connections break: a proxy's timeout, or a mobile network.",
            "cpm",
            {legend(KIND): per_minute("gateway_stream_opened_total", KIND)},
            stacked=True,
        ),
        graph(
            "Open streams by client",
            "The adapter whose route they are; native are the gateway's own.",
            "short",
            {
                "native": f"sum(gateway_stream_active{{@,{NATIVE}}})",
                legend(DIALECT): f"sum by ({DIALECT}) (gateway_stream_active{{@,{FOREIGN}}})",
            },
            stacked=True,
        ),
        graph(
            "First content by client, p95",
            "From the acceptance of a turn to the first of its content on its own stream, by adapter.",
            "s",
            {
                "native": quantile(0.95, FIRST, where=NATIVE),
                legend(DIALECT): quantile(0.95, FIRST, DIALECT, where=FOREIGN),
            },
            exemplars=True,
        ),
        graph(
            "Streams ended by reason",
            "client is a reader that left, slow one that took nothing for too long and was dropped.",
            "cpm",
            {legend(REASON): per_minute("gateway_stream_disconnects_total", REASON)},
            stacked=True,
        ),
        graph(
            "Turns and their readers",
            "Turns go on when nobody reads: those beyond the live and resumed streams are without a reader.",
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
            {legend(KIND): quantile(0.99, "gateway_stream_backlog", KIND, where=f'{KIND}!="replay"')},
        ),
        graph(
            "Slow readers dropped",
            "They lose nothing: they resume by their cursor.",
            "cpm",
            {"dropped": per_minute("gateway_stream_slow_consumer_drops_total")},
        ),
        graph(
            "Resumes",
            "Streams that went on from a cursor.",
            "cpm",
            {"resumes": per_minute("gateway_stream_resumes_total")},
            width=12,
        ),
        graph(
            "Events sent by type",
            "To all readers.",
            "cps",
            {legend("gateway_event_type"): rate("gateway_stream_events_sent_total", "gateway_event_type")},
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
                legend("http_response_status_code"): rate(
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
            {legend("http_route"): quantile(0.95, "http_server_request_duration_seconds", "http_route")},
            width=12,
        ),
    ],
)

_replicas = Row(
    "Replicas",
    [
        graph(
            "Live replicas",
            "On one database, as each of them sees it. Where they disagree, one does not reach the database.",
            "short",
            {legend("instance"): "gateway_replicas{@}"},
        ),
        graph(
            "Turns taken over",
            "lost: their replica died or stood still. released: it was told to end, as in an update.",
            "cpm",
            {legend(REASON): per_minute("gateway_turn_takeovers_total", REASON)},
            stacked=True,
        ),
        graph(
            "Since the last sign of life",
            "Beyond GATEWAY_LEASE the others take a replica's turns over.",
            "s",
            {legend("instance"): "gateway_lease_age_seconds{@}"},
        ),
        graph(
            "What differs between replicas",
            "Version, prompts or skills. During an update only; /readyz says which.",
            "short",
            {legend("instance"): "gateway_replicas_differ{@}"},
        ),
        graph(
            "Notifications",
            "How long each replica takes to hear itself through the database. Where a line ends it hears "
            "nothing, and looks each second.",
            "s",
            {legend("instance"): "gateway_notification_time_seconds{@}"},
        ),
        graph(
            "Connections to the database in use",
            "By pool. At their number (GATEWAY_DATABASE_CONNECTIONS, half of them read) work waits.",
            "short",
            {legend("instance", POOL): 'gateway_database_connections{@,gateway_connection_state="used"}'},
        ),
        graph(
            "Work that waits for a connection",
            "Reads and transactions of each pool. A moment now and then is nothing.",
            "short",
            {legend("instance", POOL): "gateway_database_waiting{@}"},
        ),
        graph(
            "Wait for a connection, p99",
            "By pool. More than some milliseconds: more connections, or a server that answers slowly.",
            "s",
            {legend(POOL): quantile(0.99, "gateway_database_wait_seconds", POOL)},
        ),
    ],
)

_process = Row(
    "Process and pipeline",
    [
        graph(
            "Event loop lag",
            "How late timers run. All streams wait as long: beyond 50 ms it is too much for one process.",
            "s",
            quantiles("gateway_event_loop_lag_seconds", 0.5, 0.99),
        ),
        graph(
            "Log writes",
            "One transaction of the event log. No event is seen before it: a slow disk shows here first.",
            "s",
            quantiles("gateway_log_flush_duration_seconds", 0.5, 0.99),
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
            {"failed": per_minute("gateway_log_flush_failures_total")},
        ),
        graph(
            "Database",
            "What it takes on disk: its file, its write-ahead log, the memories.",
            "bytes",
            {legend("gateway_database_part"): "gateway_database_size_bytes{@}"},
        ),
        graph(
            "Free disk",
            "Of the disk of the data folder. At 0 no turn can be recorded.",
            "bytes",
            {legend("instance"): "gateway_disk_free_bytes{@}"},
        ),
        graph(
            "Memory",
            "Resident memory of the process.",
            "bytes",
            {legend("instance"): "process_resident_memory_bytes{@}"},
        ),
        graph(
            "CPU",
            "Cores in use. One process uses little more than one.",
            "short",
            {legend("instance"): "rate(process_cpu_seconds_total{@}[$__rate_interval])"},
        ),
        graph(
            "Garbage collections",
            "By generation; many of generation 2 cost latency.",
            "cpm",
            {legend("generation"): per_minute("python_gc_collections_total", "generation")},
        ),
        graph(
            "Open files",
            "Share of what the process may open. Every stream is one.",
            "percentunit",
            {legend("instance"): "process_open_fds{@} / process_max_fds{@}"},
        ),
        graph(
            "Readers of the log",
            "Streams and exports that follow a session.",
            "short",
            {legend("instance"): "gateway_log_readers{@}"},
        ),
        graph(
            "Background tasks that fail",
            "Each is started again, at the latest after a minute. The log has the tracebacks.",
            "cpm",
            {legend("gateway_task"): per_minute("gateway_background_failures_total", "gateway_task")},
        ),
        graph(
            "Telemetry that was lost",
            "Spans that no collector will get, while traces are exported.",
            "cpm",
            {"spans dropped": per_minute(f"{TELEMETRY}_spans_dropped_total")},
        ),
        graph(
            "Failed exports",
            "Attempts to send spans or metrics to a collector that failed.",
            "cpm",
            {legend("gateway_signal"): per_minute(f"{TELEMETRY}_export_failures_total", "gateway_signal")},
        ),
    ],
)

DELIVERY = Board(
    "delivery",
    "Streams and process",
    "What readers get, and the process that serves them.",
    [_streams, _requests, _replicas, _process],
)
