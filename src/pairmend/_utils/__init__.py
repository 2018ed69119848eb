"""Private tools that several rooms need: validation, chunking, threads, frames, files."""
