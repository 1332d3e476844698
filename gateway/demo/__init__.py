"""A deterministic Anthropic-compatible model server on loopback: keyless first run, tests, load, faults.

connection      sockets and scripts             server         the routes, and serve_demo()
wire            replies as Messages API bytes   reply_plan     from a request to its reply
request_schema  the shape of a request          strictness     which histories the real API would refuse
versions        headers, versions of the API    signatures     signed thinking
question        what a request asks             answers        what the demo shows by itself
skill_steps     written skills, step by step    demo_tools     what `gateway dev` adds
result_report   answers about results           usage          token counts
side_requests   what is asked beside a turn     record         what it was asked
directives      the directive language          faults         scripted misbehaviour
phrases         sentences in two languages
"""
