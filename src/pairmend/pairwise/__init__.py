"""Classifiers that train a binary classifier for each pair of labels."""
