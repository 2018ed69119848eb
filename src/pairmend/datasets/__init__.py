"""Reading, preparing, generating and describing multi-label data."""

from pairmend.datasets.arff import ArffAttribute, ArffError, ArffFile, read_arff, write_arff
from pairmend.datasets.bags import BagEmbedding, MultiInstanceData, hausdorff_distances
from pairmend.datasets.characteristics import characteristics, describe
from pairmend.datasets.data import MultiLabelData, one_hot
from pairmend.datasets.generated import make_hypercubes, make_hyperspheres
from pairmend.datasets.limits import ReadLimitError, ReadLimits
from pairmend.datasets.meka import load_meka, save_meka
from pairmend.datasets.miml import load_miml
from pairmend.datasets.mulan import load_mulan, save_mulan
from pairmend.datasets.multitarget import load_multitarget
from pairmend.datasets.named_sets import catalogue, fetch, load
from pairmend.datasets.opening import load_file, load_table, save_file
from pairmend.datasets.warning import ReadWarning

__all__ = [
    "ArffAttribute",
    "ArffError",
    "ArffFile",
    "BagEmbedding",
    "MultiInstanceData",
    "MultiLabelData",
    "ReadLimitError",
    "ReadLimits",
    "ReadWarning",
    "catalogue",
    "characteristics",
    "describe",
    "fetch",
    "hausdorff_distances",
    "load",
    "load_file",
    "load_meka",
    "load_miml",
    "load_mulan",
    "load_multitarget",
    "load_table",
    "make_hypercubes",
    "make_hyperspheres",
    "one_hot",
    "read_arff",
    "save_file",
    "save_meka",
    "save_mulan",
    "write_arff",
]
