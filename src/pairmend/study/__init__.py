"""Comparing algorithms on many sets: what to run, and running it."""

from pairmend.study.plan import ALGORITHMS, generated_sets
from pairmend.study.run import Result, count_steps, mean_losses, run_study

__all__ = ["ALGORITHMS", "Result", "count_steps", "generated_sets", "mean_losses", "run_study"]
