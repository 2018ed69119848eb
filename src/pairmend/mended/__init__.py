"""MendedClassifier: local correction of any classifier, chosen on out-of-fold predictions."""
