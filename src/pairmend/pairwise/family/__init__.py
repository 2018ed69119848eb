"""Further pairwise classifiers from the literature."""
