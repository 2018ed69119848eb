"""Reading, preparing, generating and describing multi-label data."""

from pairmend.datasets.arff import ArffAttribute, ArffError, ArffFile, read_arff, write_arff
from pairmend.datasets.bags import BagEmbedding, MultiInstanceData, hausdorff_distances
from pairmend.datasets.catalogue import CatalogueEntry, catalogue, find_entry
from pairmend.datasets.characteristics import Description, characteristics, describe
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.download import fetch
from pairmend.datasets.generated import make_hypercubes, make_hyperspheres
from pairmend.datasets.limits import ReadLimitError, ReadLimits
from pairmend.datasets.loading import is_available, load
from pairmend.datasets.meka import load_meka, save_meka
from pairmend.datasets.miml import load_miml
from pairmend.datasets.mulan import load_mulan, save_mulan
from pairmend.datasets.multitarget import load_multitarget
from pairmend.datasets.opening import load_file, load_table, save_file
from pairmend.datasets.preparation import one_hot, subset
from pairmend.datasets.warning import ReadWarning

__all__ = [
    "ArffAttribute",
    "ArffError",
    "ArffFile",
    "BagEmbedding",
    "CatalogueEntry",
    "Description",
    "MultiInstanceData",
    "MultiLabelData",
    "ReadLimitError",
    "ReadLimits",
    "ReadWarning",
    "catalogue",
    "characteristics",
    "describe",
    "fetch",
    "find_entry",
    "hausdorff_distances",
    "is_available",
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
    "subset",
    "write_arff",
]
