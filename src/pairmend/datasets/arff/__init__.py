"""ARFF files: reading and writing, dense and sparse."""

from pairmend.datasets.arff.model import ArffError, ArffFile, Attribute
from pairmend.datasets.arff.reader import read_arff
from pairmend.datasets.arff.writer import write_arff

__all__ = ["ArffError", "ArffFile", "Attribute", "read_arff", "write_arff"]
