"""MendedClassifier and everything that only it needs."""
