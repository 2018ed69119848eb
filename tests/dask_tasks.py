"""Functions that tests run on Dask workers, which import them from this module."""

import time


def slow(block):
    time.sleep(0.2)
    return block
