"""A loss whose error quotes a row, as an error of the user's own code may."""

from torch.nn.functional import cross_entropy

from hospitals import PATIENT


def loss(outputs, targets):
    """Fail at the first look, of two rows, with what must stay at the node."""
    raise ValueError(f"{PATIENT}: {outputs.shape}, {targets.shape}")


def late_loss(outputs, targets):
    """Fail in training, likewise."""
    if len(targets) > 2:
        raise ValueError(f"{PATIENT}: {outputs.shape}")
    return cross_entropy(outputs, targets, reduction="none")
