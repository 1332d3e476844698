"""Messages that are sent at set times: when they are due, and who may make them. The runs are in service/."""
