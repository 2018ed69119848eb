"""Benchmarks of the parts that take most of the time, for asv: `make bench`."""
