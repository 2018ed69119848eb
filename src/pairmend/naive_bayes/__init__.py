"""RandomSubspaceNB and the modules that only it needs."""
