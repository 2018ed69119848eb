"""Reading, preparing, generating and describing multi-label data."""

from pairmend.datasets.bags import BagEmbedding, MultiInstanceData, load_miml
from pairmend.datasets.characteristics import characteristics, describe
from pairmend.datasets.data import MultiLabelData, one_hot
from pairmend.datasets.files import load_file, save_file
from pairmend.datasets.generated import make_shapes
from pairmend.datasets.limits import ReadLimitError, ReadLimits, ReadWarning
from pairmend.datasets.named_sets import catalogue, load

__all__ = [
    "BagEmbedding",
    "MultiInstanceData",
    "MultiLabelData",
    "ReadLimitError",
    "ReadLimits",
    "ReadWarning",
    "catalogue",
    "characteristics",
    "describe",
    "load",
    "load_file",
    "load_miml",
    "make_shapes",
    "one_hot",
    "save_file",
]
