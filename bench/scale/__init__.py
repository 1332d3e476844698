"""Beyond one machine: what PostgreSQL and several replicas cost, and how soon they notice each other."""
