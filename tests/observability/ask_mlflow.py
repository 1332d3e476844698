"""Runs in MLflow's environment: prints the traces of an experiment as one line of JSON."""

import json
import sys

import mlflow  # pyright: ignore[reportMissingImports]

traces = mlflow.search_traces(locations=[sys.argv[1]], return_type="list", max_results=500)
told = [
    {
        "trace": trace.info.trace_id,
        "state": str(trace.info.state),
        "session": trace.info.trace_metadata.get("mlflow.trace.session"),
        "tokens": trace.info.token_usage,
        "cost": getattr(trace.info, "cost", None),
        "request": trace.info.request_preview,
        "spans": [
            {
                "name": span.name,
                "type": span.span_type,
                "id": span.span_id,
                "parent": span.parent_id,
            }
            for span in trace.data.spans
        ],
    }
    for trace in traces
]
sys.stdout.write(json.dumps(told))
