"""The Transformer in PyTorch, for step.py: pre-norm, relu, sinusoidal positions, no dropout.

Two formulations of the layers. `torch`: nn.TransformerEncoderLayer and nn.TransformerDecoderLayer,
time first or batch first. `own`: the same arithmetic and parameters, written out, time first, with
the rows of the joint projection ordered by head; queries, keys and values are then strided views of
one product. PyTorch 1.13 has no fused attention that can be trained on the CPU. The batch of the
benchmark has no padding, so no padding mask is applied.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def sinusoids(length, width):
    """(length, width): sin and cos in turn."""
    angle = torch.arange(length).unsqueeze(1) * torch.exp(
        torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)


def causal_mask(length):
    return torch.full((length, length), float("-inf")).triu_(1)


class Attention(nn.Module):
    """Multi-head attention with the parameters of nn.MultiheadAttention; x is (T, B, D)."""

    def __init__(self, case, causal_blocks=1):
        super().__init__()
        self.heads, self.blocks = case.heads, causal_blocks
        self.joint = nn.Linear(case.width, 3 * case.width)
        self.out = nn.Linear(case.width, case.width)
        nn.init.xavier_uniform_(self.joint.weight)
        nn.init.zeros_(self.joint.bias)
        nn.init.zeros_(self.out.bias)

    def split(self, projected, parts):
        """(T, B, parts * D), rows ordered by head -> parts views (B * H, T, K)."""
        T, B, units = projected.shape
        K = units // parts // self.heads
        return projected.view(T, B * self.heads, parts, K).permute(2, 1, 0, 3).unbind(0)

    def mix(self, q, k, v, mask):
        """softmax(q k^T / sqrt(K) + mask) v, (B * H, T, K)."""
        bias = mask if mask is not None else q.new_zeros(1)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=0 if mask is None else 1,
                               alpha=q.size(2) ** -0.5)
        return torch.bmm(torch.softmax(scores, dim=2), v)

    def finish(self, context, x):
        return self.out(context.transpose(0, 1).reshape(x.shape))

    def self_attention(self, x, mask=None):
        q, k, v = self.split(self.joint(x), 3)
        if mask is None or self.blocks == 1:
            return self.finish(self.mix(q, k, v, mask), x)
        # A block of queries meets no key that is later than its last: those scores are not made.
        length = x.size(0)
        size = -(-length // self.blocks)
        blocks = []
        for begin in range(0, length, size):
            end = min(begin + size, length)
            blocks.append(self.mix(q[:, begin:end], k[:, :end], v[:, :end], mask[begin:end, :end]))
        return self.finish(torch.cat(blocks, dim=1), x)

    def cross_attention(self, x, memory):
        D = x.size(2)
        of_query, of_memory = self.joint.weight.split([D, 2 * D])
        bias_of_query, bias_of_memory = self.joint.bias.split([D, 2 * D])
        q, = self.split(F.linear(x, of_query, bias_of_query), 1)
        k, v = self.split(F.linear(memory, of_memory, bias_of_memory), 2)
        return self.finish(self.mix(q, k, v, None), x)


class Layer(nn.Module):
    """Of the encoder; with `crossing`, of the decoder."""

    def __init__(self, case, crossing, causal_blocks=1):
        super().__init__()
        D = case.width
        self.attention = Attention(case, causal_blocks)
        self.crossing = Attention(case) if crossing else None
        self.linear1 = nn.Linear(D, case.feed_forward)
        self.linear2 = nn.Linear(case.feed_forward, D)
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(3 if crossing else 2))

    def forward(self, x, memory=None, mask=None):
        x = x + self.attention.self_attention(self.norms[0](x), mask)
        if self.crossing is not None:
            x = x + self.crossing.cross_attention(self.norms[1](x), memory)
        return x + self.linear2(F.relu(self.linear1(self.norms[-1](x)), inplace=True))


class OwnStacks(nn.Module):
    def __init__(self, case, causal_blocks):
        super().__init__()
        count = range(case.layers)
        self.encoder = nn.ModuleList(Layer(case, False) for _ in count)
        self.decoder = nn.ModuleList(Layer(case, True, causal_blocks) for _ in count)
        self.encoder_norm = nn.LayerNorm(case.width)
        self.decoder_norm = nn.LayerNorm(case.width)

    def forward(self, x, y, mask):
        for layer in self.encoder:
            x = layer(x)
        memory = self.encoder_norm(x)
        for layer in self.decoder:
            y = layer(y, memory, mask)
        return self.decoder_norm(y)


class TorchStacks(nn.Module):
    def __init__(self, case, batch_first):
        super().__init__()
        sizes = {"d_model": case.width, "nhead": case.heads, "dim_feedforward": case.feed_forward,
                 "dropout": 0.0, "norm_first": True, "batch_first": batch_first}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**sizes), case.layers, nn.LayerNorm(case.width))
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**sizes), case.layers, nn.LayerNorm(case.width))

    def forward(self, x, y, mask):
        return self.decoder(y, self.encoder(x), tgt_mask=mask)


class Transformer(nn.Module):
    """module(source (S, B), target input (T, B)) -> logits (T * B, V); batch first, (B, S), (B, T)
    -> (B * T, V)."""

    def __init__(self, case, options):
        super().__init__()
        D = case.width
        self.batch_first = options.batch_first
        self.source_embedding = nn.Embedding(case.words, D)
        self.target_embedding = nn.Embedding(case.words, D)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=D**-0.5)
        self.stacks = (OwnStacks(case, options.causal_blocks) if options.layers == "own"
                       else TorchStacks(case, options.batch_first))
        self.output = nn.Linear(D, case.words)
        waves = sinusoids(max(case.source, case.target), D)
        self.register_buffer("waves", waves if options.batch_first else waves.unsqueeze(1))
        self.register_buffer("mask", causal_mask(case.target))

    def embed(self, embedding, ids):
        length = ids.size(1 if self.batch_first else 0)
        return torch.add(self.waves[:length], embedding(ids), alpha=embedding.embedding_dim**0.5)

    def forward(self, source, target):
        x = self.embed(self.source_embedding, source)
        y = self.embed(self.target_embedding, target)
        return self.output(self.stacks(x, y, self.mask).flatten(0, 1))
