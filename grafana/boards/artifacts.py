"""What is kept aside: large results and files, how they are read and passed on, and how much there is."""

from panels import Board, Row, graph, legend, per_minute, quantiles

SIZE = "gateway_artifact_size_bytes"
KEEPING = "gateway_artifact_keep_duration_seconds"
READS = "gateway_artifact_reads_total"
PASSED = "gateway_artifact_reference_size_bytes"
KIND = "gateway_artifact_kind"
SOURCE = "gateway_artifact_source"
HOW = "gateway_artifact_read"
BY = "gateway_artifact_by"
WHAT = "gateway_artifact_passed"
REMOVED = "gateway_artifact_removed"
REFUSED = 'error_type!=""'

_kept = Row(
    "Kept aside",
    [
        graph(
            "Kept, by where it came from",
            "Results of tools that were too long or no text, files of messages, and what clients sent.",
            "cpm",
            {legend(SOURCE): per_minute(f"{SIZE}_count", SOURCE)},
            stacked=True,
        ),
        graph(
            "Kept, by kind",
            "As their content tells, whatever their source said of it.",
            "cpm",
            {legend(KIND): per_minute(f"{SIZE}_count", KIND)},
            stacked=True,
        ),
        graph("Size", "Of one content.", "bytes", quantiles(SIZE, 0.5, 0.95)),
        graph(
            "Time to keep one",
            "Looked at, written and entered. The turn waits for it.",
            "s",
            quantiles(KEEPING, 0.5, 0.95),
        ),
        graph(
            "Not kept",
            "By where it came from and why: too large, a user without room (artifacts_full), or a disk or "
            "database that fails.",
            "cpm",
            {
                legend(SOURCE, "error_type"): per_minute(
                    f"{KEEPING}_count", SOURCE, "error_type", where=REFUSED
                )
            },
            stacked=True,
        ),
        graph(
            "Warnings of turns",
            "The model got a result cut short (artifact_not_kept), or a file of a message not at all "
            "(attachment_not_shown).",
            "cpm",
            {
                legend("gateway_warning_code"): per_minute(
                    "gateway_artifact_warnings_total", "gateway_warning_code"
                )
            },
            stacked=True,
        ),
    ],
)

_read = Row(
    "Read and passed on",
    [
        graph(
            "Parts read",
            "By lines, bytes, a JSON path or a search; by the model with its tool, or by a user over HTTP.",
            "cpm",
            {legend(BY, HOW): per_minute(READS, BY, HOW)},
            stacked=True,
        ),
        graph(
            "Parts refused",
            "By the error. Many of one kind mean that the compact form leads the model astray.",
            "cpm",
            {legend(HOW, "error_type"): per_minute(READS, HOW, "error_type", where=REFUSED)},
            stacked=True,
        ),
        graph(
            "JSON paths stopped",
            "They took too much time or memory, or others were being followed (busy).",
            "cpm",
            {
                legend("gateway_reason"): per_minute(
                    "gateway_artifact_json_path_stopped_total", "gateway_reason"
                )
            },
            stacked=True,
        ),
        graph(
            "Passed by reference",
            "Artifacts, or parts of them, that went to a tool without passing through the model.",
            "cpm",
            {legend(WHAT): per_minute(f"{PASSED}_count", WHAT)},
            stacked=True,
            width=12,
        ),
        graph(
            "Size of what is passed",
            "Of one artifact, also where only a part of it is passed.",
            "bytes",
            quantiles(PASSED, 0.5, 0.95),
            width=12,
        ),
    ],
)

_store = Row(
    "What is stored",
    [
        graph(
            "Artifacts",
            "Of all users.",
            "short",
            {"artifacts": "max(gateway_artifacts{@})"},
            width=6,
        ),
        graph(
            "Their contents",
            "What a user has twice counts once. GATEWAY_ARTIFACT_QUOTA bounds it for each user.",
            "bytes",
            {"contents": "max(gateway_artifacts_stored_bytes{@})"},
            width=6,
        ),
        graph(
            "Removed, and in doubt",
            "Artifacts whose time was over, blobs that nobody needed, and blobs that wait to be looked at. "
            "Those that stay in doubt cannot be removed: the log says why.",
            "short",
            {
                legend(
                    REMOVED
                ): f"sum by ({REMOVED}) (increase(gateway_artifact_removed_total{{@}}[$__rate_interval]))",
                "in doubt": "max(gateway_artifact_blobs_doubtful{@})",
            },
            width=6,
        ),
        graph(
            "Damaged contents",
            "Asked for, and missing or changed. Each is a line in the log, with its SHA-256.",
            "short",
            {
                legend(
                    "gateway_reason"
                ): "sum by (gateway_reason) (increase(gateway_artifact_damaged_total{@}[$__rate_interval]))"
            },
            width=6,
        ),
    ],
)

ARTIFACTS = Board(
    "artifacts",
    "Artifacts",
    "Large results and files that are kept aside, how they are read and passed on, and how much there is.",
    [_kept, _read, _store],
)
