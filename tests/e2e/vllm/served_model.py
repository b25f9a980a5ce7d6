"""What a test's vLLM serves; apart, since the exporting program needs nothing else."""

MODEL = "spec-demo"
