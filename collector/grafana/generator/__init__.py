"""Writes the Grafana dashboards: one module a dashboard, one for the JSON."""
