"""Shows the dashboards without Grafana: one HTML page, fed by a Prometheus."""
