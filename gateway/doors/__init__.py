"""The same product for clients that speak another protocol than the HTTP API."""
