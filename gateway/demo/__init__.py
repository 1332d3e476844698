"""A deterministic Anthropic-compatible model server on loopback: keyless first run, tests, load, faults.

connection   sockets and scripts          server      the routes, and serve_demo()
wire         replies as Messages API bytes  strictness  which requests the real API would refuse
asked        what a request asks          answers     what the demo says by itself
skills       written skills, step by step  notes      a tool that needs a yes
versions     which headers it wants, and what each version of the API refuses
orders       a tool with a large result   attached    files beside a question
media        images and documents         tools       what `gateway dev` adds
recall       what the user told before    statements  what counts as told
summaries    how it summarises            usage       how it counts
directives   what it is told to say       faults      how it is told to misbehave
"""
