"""What several parts of the package need: validation, chunking, threads, frames, files."""
