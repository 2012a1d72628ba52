"""From a torch module to the layers of the kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
from torch import nn

from fedmgda.kernels._layout import CONV, DENSE, LANES, LAYER, PLANE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Vector

__all__ = ["Program", "translate"]

_TYPES = {
    nn.Sequential, nn.Flatten, nn.Unflatten, nn.Conv2d, nn.Linear, nn.MaxPool2d, nn.Dropout2d,
    nn.Dropout, nn.ReLU,
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A model the kernels can run.

    Attributes:
        layers: Of `LAYER`.
        positions: Of shape `(d,)`: where each entry of the travelling vector stands in the order of
            the kernels, which has channels innermost and rows padded with zeros.
        num_entries: The length of a vector in the order of the kernels.
        planes: The channels of the input image; 1 for anything else.
    """

    layers: NDArray[Any]
    positions: Indices
    num_entries: int
    planes: int

    def beats_torch(self, batch_size: int) -> bool:
        """Whether the kernels are faster than torch at this batch size, as far as was measured.

        They take one example at a time. Convolutions gain by that, since pooling and dropout leave
        little to do on the way back; wide dense layers lose, once torch can multiply a whole batch.
        """
        weights = int((self.layers["features"] * self.layers["row"]).max())
        if (self.layers["kind"] != DENSE).any():
            return weights <= 2**18
        return weights * batch_size <= 2**22

    def arrange(self, params: Vector) -> Vector:
        """Return the travelling vector in the order of the kernels."""
        arranged = np.zeros(self.num_entries, np.float32)
        arranged[self.positions] = params
        return arranged


def translate(module: nn.Module, shape: Sequence[int]) -> Program | None:
    """Return the program of a module for examples of the given shape, or None if there is none.

    Supported are sequences of Conv2d (stride 1, no padding) and Linear layers, the former followed
    by MaxPool2d, Dropout2d and ReLU in any order, the latter by ReLU and then Dropout, with Flatten
    and Unflatten where they do not reorder.
    """
    layers = list(module) if type(module) is nn.Sequential else [module]
    if not all(_is_untouched(part) for part in {module, *layers}):
        return None
    if not all(param.requires_grad for param in module.parameters()):
        return None
    builder = _Builder(tuple(int(side) for side in shape))
    known = all(builder.add(layer) for layer in layers)
    return builder.program() if known and builder.matches(module) else None


def _is_untouched(module: nn.Module) -> bool:
    """Whether a module does what its type says: it is no subclass and has no hooks."""
    hooks = (
        module._forward_hooks, module._forward_pre_hooks,  # noqa: SLF001 (torch shows them nowhere else)
        module._backward_hooks, module._backward_pre_hooks,  # noqa: SLF001
    )  # fmt: skip
    return type(module) in _TYPES and not any(hooks)


@dataclass(slots=True)
class _Builder:
    """Collects layers until one does not fit."""

    shape: tuple[int, ...]
    layers: list[dict[str, Any]] = field(default_factory=list)
    orders: list[Indices] = field(default_factory=list)
    planes: int = 0
    flat: bool = False

    def add(self, layer: nn.Module) -> bool:
        """Take a layer, or return False."""
        match layer:
            case nn.Flatten(start_dim=1, end_dim=-1):
                # Inside the model images stay as they are; the weights are reordered instead.
                self.flat = True
                self.shape = self.shape if self.layers else (math.prod(self.shape),)
                return True
            case nn.Unflatten(dim=1) if not self.layers:
                self.flat = False
                self.shape = tuple(int(side) for side in layer.unflattened_size)
                return True
            case nn.Conv2d() if len(self.shape) == 3 and not self.flat and _is_plain(layer):
                return self._conv(layer)
            case nn.Linear() if layer.bias is not None and (self.flat or len(self.shape) == 1):
                return self._dense(layer)
            case nn.MaxPool2d() | nn.Dropout2d() | nn.ReLU() | nn.Dropout() if self.layers:
                return self._follow(layer)
            case _:
                return False

    def _conv(self, layer: nn.Conv2d) -> bool:
        channels, height, width = self.shape
        side = layer.kernel_size[0]
        if layer.in_channels != channels or min(height, width) < side:
            return False
        kind = PLANE if channels == 1 else CONV
        self._start(kind, layer.out_channels, channels, (height, width), side)
        order = np.arange(layer.weight.numel()).reshape(-1, channels, side * side)
        self.orders.append(order.transpose(0, 2, 1).reshape(layer.out_channels, -1))
        self.shape = (layer.out_channels, height - side + 1, width - side + 1)
        return True

    def _dense(self, layer: nn.Linear) -> bool:
        size = math.prod(self.shape)
        if layer.in_features != size:
            return False
        self._start(DENSE, layer.out_features, size, (1, 1), 1)
        # torch flattens an image with the channels outermost.
        inner = np.arange(size).reshape(self.shape[0], -1).T.reshape(-1)
        order = np.arange(layer.weight.numel()).reshape(layer.out_features, size)
        self.orders.append(order[:, inner])
        self.shape = (layer.out_features,)
        return True

    def _start(
        self, kind: int, features: int, channels: int, sides: tuple[int, int], side: int
    ) -> None:
        self.planes = self.planes or (1 if kind == DENSE else channels)
        facts = {"kind": kind, "features": features, "channels": channels, "kernel": side}
        self.layers.append(facts | {"height": sides[0], "width": sides[1], "pool": 1, "drop": 0.0})

    def _follow(self, layer: nn.Module) -> bool:
        """Let the last layer do what follows it: these commute, but for ReLU after dropout."""
        last = self.layers[-1]
        conv = last["kind"] != DENSE
        match layer:
            case nn.ReLU() if conv or not last["drop"]:
                last["relu"] = 1
            case nn.Dropout2d() if conv and not last["drop"] and layer.p < 1:
                last["drop"] = layer.p
            case nn.Dropout() if not conv and not last["drop"] and layer.p < 1:
                last["drop"] = layer.p
            case nn.MaxPool2d() if conv and last["pool"] == 1 and _pools_plainly(layer):
                last["pool"] = layer.kernel_size
                self.shape = (self.shape[0], *(side // last["pool"] for side in self.shape[1:]))
                return min(self.shape) > 0
            case _:
                return False
        return True

    def matches(self, module: nn.Module) -> bool:
        """Whether the layers hold all parameters, in their order, and end in a dense layer."""
        size = sum(order.size + len(order) for order in self.orders)
        dense = bool(self.layers) and self.layers[-1]["kind"] == DENSE
        plain = dense and not self.layers[-1].get("relu") and not self.layers[-1]["drop"]
        return plain and size == sum(param.numel() for param in module.parameters())

    def program(self) -> Program:
        """Put the layers one after the other in memory."""
        layers = np.zeros(len(self.layers), LAYER)
        positions: list[Indices] = []
        entries, winners = 0, 0
        first = self.layers[0]
        at, end = 0, _padded(first["height"] * first["width"] * first["channels"])
        for layer, facts, order in zip(layers, self.layers, self.orders, strict=True):
            for key, value in facts.items():
                layer[key] = value
            layer["inputs"], layer["row"] = at, _padded(order.shape[1])
            layer["weights"], layer["biases"] = entries, entries + len(order) * layer["row"]
            positions += _positions(order, entries, int(layer["row"]))
            entries += len(order) * layer["row"] + _padded(len(order))
            at, end, winners = _place(layer, end, winners)
        return Program(
            layers=layers,
            positions=np.concatenate(positions),
            num_entries=int(entries),
            planes=self.planes,
        )


def _place(layer: Any, end: int, winners: int) -> tuple[int, int, int]:
    """Reserve memory for a layer; return where its output stands and the new ends."""
    high, wide = (layer[side] - layer["kernel"] + 1 for side in ("height", "width"))
    conv, plane = layer["kind"] != DENSE, layer["kind"] == PLANE
    layer["size"] = layer["features"] * (high // layer["pool"]) * (wide // layer["pool"])
    layer["outputs"] = end
    layer["patches"] = layer["outputs"] + _padded(layer["size"])
    layer["raw"] = layer["patches"] + (high * wide * layer["row"] if conv else 0)
    kept = high * (layer["width"] if plane else wide) * conv
    layer["scales"] = layer["raw"] + _padded(kept * layer["features"])
    layer["end"] = layer["scales"] + _padded(layer["features"])
    layer["winners"] = winners
    layer["num_winners"] = winners + (layer["size"] if conv else 0)
    return int(layer["outputs"]), int(layer["end"]), int(layer["num_winners"])


def _positions(order: Indices, start: int, row: int) -> list[Indices]:
    """Return where the weights and the biases of a layer go, in torch's order."""
    weights = np.empty(order.size, np.int64)
    weights[order] = start + np.arange(len(order))[:, None] * row + np.arange(order.shape[1])
    return [weights, start + len(order) * row + np.arange(len(order))]


def _padded(size: int) -> int:
    return -(-int(size) // LANES) * LANES


def _is_plain(layer: nn.Conv2d) -> bool:
    side = layer.kernel_size[0]
    return (
        layer.kernel_size == (side, side)
        and layer.stride == layer.dilation == (1, 1)
        and layer.padding in ((0, 0), "valid")
        and layer.groups == 1
        and layer.bias is not None
    )


def _pools_plainly(layer: nn.MaxPool2d) -> bool:
    side = layer.kernel_size
    return (
        isinstance(side, int)
        and layer.stride == side
        and layer.padding == 0
        and layer.dilation == 1
        and not layer.ceil_mode
        and not layer.return_indices
    )
