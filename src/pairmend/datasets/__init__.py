"""Reading and preparing multi-label data."""

from pairmend.datasets.arff import ArffError
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.miml import load_miml
from pairmend.datasets.mulan import load_mulan
from pairmend.datasets.preparation import one_hot

__all__ = ["ArffError", "MultiLabelData", "load_miml", "load_mulan", "one_hot"]
