"""Side by side with peers in one run. `python -m benchmarks` prints tables and keeps RESULTS.md."""
