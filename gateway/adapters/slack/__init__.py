"""Slack, as a messenger: a program beside the gateway and a client of its HTTP API.

`slack_messenger` posts and receives, `slack_events` reads what Slack sends, `slack_blocks` and `slack_mrkdwn`
write what it shows, `slack_call_rates` keeps to its published limits.
"""
