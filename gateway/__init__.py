"""Chat Gateway: a message in, a durable stream of typed events out.

The map, from the entry points inwards:

    cli        one file per command             app       routes + middleware
    client     a running gateway over HTTP, for Python: what the commands talk to one with
    lifespan   what lives as long as the process
    page       the page's files, its name, and what makes it an app
    gauges     what a scrape reads from its parts
    api        the HTTP API                     adapters  the same turns for other clients
    wiring     settings -> concrete parts
    http       what both share: requests, event streams, refusals
    service    the operations of all entries, by subject (start with service/gateway.py)
    sse_frames  events -> bytes of a dialect
    session_pages  what happened in a session, in words, as a page and as Markdown
    telemetry  spans, metrics, logs: a reader   demo      a keyless, deterministic model server
    turn       one turn, accepted to finished   (start with turn/run.py)
    prompt     the prompt of a call
    history    the messages of a session        memory    what is remembered across sessions
    skills     what the model can do            tools     what the model may call
    schedules  messages at set times
    model      the protocol of a model          storage   the event log and its tables
    auth       who is asking
    events     the types of all events
    supervisor background tasks that nothing ends but their cancellation
    cancellation_shield  work that is waited for to its end
    encryption  secrets and contents at rest: keys of the operator, of which the first encrypts
    backlog    work that waits in the background, and for how long after a failure
    bounded_dict  a dict that keeps its newest entries
    json_parts  how many parts JSON has, before it is parsed
    thinking_in_text  what a model thinks between `<think>` and `</think>`
    pace       when to look again
    places     places for work of which little may run at the same time
    child_process  programs that are started, without a fork
    bm25       how well a text answers a question
    files      folders that people edit, read inside and looked at again
    messages, settings, lexical, errors, ids    values without I/O

An upper line may import a lower one, never the other way round; `make check` enforces it.
"""

__version__ = "0.9.0"
