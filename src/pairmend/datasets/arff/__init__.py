"""ARFF files: reading and writing, dense and sparse."""

from pairmend.datasets.arff.model import ArffAttribute, ArffError, ArffFile
from pairmend.datasets.arff.reader import read_arff
from pairmend.datasets.arff.writer import write_arff

__all__ = ["ArffAttribute", "ArffError", "ArffFile", "read_arff", "write_arff"]
