"""Architectures, and the one place that knows both a module and its flat vector.

A model reaches the clients as a factory without arguments that can be pickled, because every worker
process builds its own module: `functools.partial(mlp, (64, 32, 10))`. Classifiers return logits.
"""

from fedmgda.models._char_lstm import char_lstm
from fedmgda.models._check import check_model
from fedmgda.models._cifar_cnn import cifar_cnn
from fedmgda.models._femnist_cnn import femnist_cnn
from fedmgda.models._flat import FlatModel
from fedmgda.models._fmnist_cnn import fmnist_cnn
from fedmgda.models._initial import initial_vector
from fedmgda.models._layout import takes_channels_last
from fedmgda.models._linear import linear
from fedmgda.models._lrn import LocalResponseNorm
from fedmgda.models._mlp import mlp
from fedmgda.models._named import layout_of

__all__ = [
    "FlatModel",
    "LocalResponseNorm",
    "char_lstm",
    "check_model",
    "cifar_cnn",
    "femnist_cnn",
    "fmnist_cnn",
    "initial_vector",
    "layout_of",
    "linear",
    "mlp",
    "takes_channels_last",
]
