"""RandomSubspaceNB and everything that only it needs."""
