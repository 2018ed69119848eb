"""Long random tests: kills of studies, damaged files, forged models, degenerate fits, forks.

``make soak`` runs all campaigns and continues an earlier run.
"""
