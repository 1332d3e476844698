"""The measuring house: the gateway beside bare relays of the same upstream, in the same run.

`python -m bench` prints ratios, medians of interleaved rounds; `python -m bench.kill` kills the gateway at
random moments and checks that nothing was lost. Neither is ever a test with a time limit.
"""
