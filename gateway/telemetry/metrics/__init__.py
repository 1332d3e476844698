"""Metrics: counters, histograms and gauges, and their ways out."""
