# The public names and where they live: read by type checkers, and by `lazy_package` at run time.

from fedmgda.models._catalogue import MODELS as MODELS, ModelRecord as ModelRecord
from fedmgda.models._char_lstm import char_lstm as char_lstm
from fedmgda.models._check import check_model as check_model
from fedmgda.models._cifar_cnn import cifar_cnn as cifar_cnn
from fedmgda.models._femnist_cnn import femnist_cnn as femnist_cnn
from fedmgda.models._flat import FlatModel as FlatModel
from fedmgda.models._fmnist_cnn import fmnist_cnn as fmnist_cnn
from fedmgda.models._initial import initial_vector as initial_vector
from fedmgda.models._layout import takes_channels_last as takes_channels_last
from fedmgda.models._linear import linear as linear
from fedmgda.models._lrn import LocalResponseNorm as LocalResponseNorm
from fedmgda.models._mlp import mlp as mlp
from fedmgda.models._named import layout_of as layout_of
