"""Makes torchvision importable beside a torch without GPUs.

FedLab imports torchvision, and the registry's wheel of it is built for GPUs: its operators are then
missing, and its import asks for two of them. W1 uses none, so declaring them is enough.
"""

from __future__ import annotations

import torch

for name in ("nms", "qnms"):
    torch.library.define(f"torchvision::{name}", "(Tensor boxes, Tensor scores, float x) -> Tensor")
