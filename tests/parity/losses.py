"""CrossEntropyLoss, with targets that count for nothing and with smoothing."""

import torch
from torch import nn

from recording import draw, record


def cross_entropy(smoothing, reduction):
    logits = (3 * draw(2, 4, 6)).float().double().requires_grad_()
    targets = torch.tensor([[1, 5, 2, 0], [3, 0, 0, 0]])
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=smoothing, reduction=reduction)
    record(
        f"cross_entropy_{reduction}_{smoothing}",
        None,
        {"logits": logits, "targets": targets},
        {"loss": loss(logits.reshape(8, 6), targets.reshape(8))},
    )


def make():
    for smoothing in (0.0, 0.1, 0.4):
        for reduction in ("mean", "sum"):
            cross_entropy(smoothing, reduction)
