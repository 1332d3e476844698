"""The model: one protocol (`base`), and what stands between it and an endpoint. Which file holds what:

a call        anthropic: one call, from its place in line to its chunks · credentials, prices, usage
              side_calls: calls that are no turn's, each with its purpose and limits
a request     request_body as the Messages API writes it · endpoint_profile: what an endpoint takes of it
              sdk_requests, the SDK's headers · http_client, the connections
an answer     http_response → response_chunks → sse → message_stream → message_blocks → content_block,
              with text_deltas (the usual event, read quickly), event_fields, strict_json, bounds, watchdog
a failure     error_bodies: its words, of any form · failure_kinds: what words, types and statuses mean
              overflow: whether a prompt is too long · upstream_failures: our error of all three
              retry_delay
an endpoint   endpoint_address: whose it is · endpoint_questions: how it is asked beside its calls
              facts_reading: its answers, as endpoint_facts · endpoint_inquiry: when it is asked
              endpoint_liveness: whether it is at work · endpoint_queue: the line before its slots
              model_limits and default_model: what follows from facts, settings and prices
"""
