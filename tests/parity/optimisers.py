"""Twenty steps of an optimiser on given gradients, clipped, at a rate that changes, one parameter at times without."""

import torch
from torch import nn

from recording import draw, exact, numbers

STEPS, CLIP = 20, 1.5


def optimiser(case, make_optimiser, clip):
    module = exact(nn.Linear(3, 2))
    named = dict(module.named_parameters())
    for name, p in named.items():
        numbers[f"{case}/parameter.{name}"] = p.detach().float()
    rates = (0.01 * (1 + torch.arange(STEPS) % 7)).float().double()
    has_gradient = torch.ones(STEPS, len(named))
    has_gradient[torch.arange(STEPS) % 5 == 2, 1] = 0
    # Some steps' gradients are longer than the limit, some are not.
    lengths = 0.2 + torch.arange(STEPS).double() % 3
    given = {name: (draw(STEPS, *p.shape) * lengths.reshape(-1, *[1] * p.dim())).float().double() for name, p in named.items()}
    steps = make_optimiser(module.parameters())
    norms, after = [], {name: [] for name in named}
    for t in range(STEPS):
        for i, (name, p) in enumerate(named.items()):
            p.grad = given[name][t].clone() if has_gradient[t, i] else None
        limit = CLIP if clip else float("inf")
        norms.append(nn.utils.clip_grad_norm_(module.parameters(), limit))
        for group in steps.param_groups:
            group["lr"] = rates[t].item()
        steps.step()
        for name, p in named.items():
            after[name].append(p.detach().clone())
    numbers[f"{case}/input.rates"] = rates.float()
    numbers[f"{case}/input.has_gradient"] = has_gradient
    numbers[f"{case}/input.clip"] = torch.tensor([CLIP if clip else 0.0])
    numbers[f"{case}/result.norms"] = torch.stack(norms)
    for name in named:
        numbers[f"{case}/input.gradient.{name}"] = given[name].float()
        numbers[f"{case}/result.{name}"] = torch.stack(after[name])


def make():
    for clip in (False, True):
        for decay in (0.0, 0.1):
            kinds = {
                "adam": lambda p: torch.optim.Adam(p, betas=(0.9, 0.98), weight_decay=decay),
                "adamw": lambda p: torch.optim.AdamW(p, betas=(0.9, 0.98), weight_decay=decay),
                "sgd": lambda p: torch.optim.SGD(p, lr=1, weight_decay=decay),
                "sgd_momentum": lambda p: torch.optim.SGD(p, lr=1, momentum=0.9, weight_decay=decay),
            }
            for name, kind in kinds.items():
                optimiser(f"{name}_{decay}{'_clipped' if clip else ''}", kind, clip)
