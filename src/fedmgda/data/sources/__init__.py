"""Where data comes from: sources, checksums and the cache."""

from fedmgda.data.sources._adult import encode_adult, load_adult, read_adult
from fedmgda.data.sources._cache import cache_root
from fedmgda.data.sources._catalogue import (
    catalogue,
    dataset_folder,
    fetch,
    find_dataset,
    import_folder,
    is_cached,
    verify,
)
from fedmgda.data.sources._dataset import Dataset, Step
from fedmgda.data.sources._images import load_cifar10, load_fashion_mnist, load_mnist
from fedmgda.data.sources._verify import Check, Report

__all__ = [
    "Check",
    "Dataset",
    "Report",
    "Step",
    "cache_root",
    "catalogue",
    "dataset_folder",
    "encode_adult",
    "fetch",
    "find_dataset",
    "import_folder",
    "is_cached",
    "load_adult",
    "load_cifar10",
    "load_fashion_mnist",
    "load_mnist",
    "read_adult",
    "verify",
]
