"""Summaries of sessions: summary.py has their form, summariser.py has a model write them."""
