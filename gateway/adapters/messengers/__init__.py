"""Interfaces in which an answer is a message that is posted and edited: Slack, and what is like it.

A program of its own, a client of the gateway's HTTP API like others: it knows `gateway.client`, and of the
server's code only how events fold into parts (`turn_fold`). `base` is the contract of an interface; `bridge`
runs one: messages in, turns out, each thread followed in the log from a durable cursor.
"""
