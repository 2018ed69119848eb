"""Dense computations in terms of the array API, for arrays on any device."""
