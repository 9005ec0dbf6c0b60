"""Running steps: masters, workers and their executors, and the decisions between them."""
