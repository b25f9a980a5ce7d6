"""otel-specdecode."""
