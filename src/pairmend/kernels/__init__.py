"""Pure functions of arrays that compute the method's formulas, with numpy and scipy only."""
