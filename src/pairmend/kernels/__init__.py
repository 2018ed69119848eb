"""The mathematics of the method: arrays in, arrays out, numpy and scipy only."""
