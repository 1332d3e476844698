"""What the HTTP API and the adapters share: requests, event streams, refusals, endpoints."""
