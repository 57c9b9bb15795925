"""Multi-head attention, the layers of the Transformer, and a whole one. Padding stands at the ends of sentences."""

import torch
from torch import nn

from recording import draw, exact, record

WIDTH, HEADS, INNER = 8, 2, 12
SOURCE, TARGET = torch.tensor([5, 3, 1]), torch.tensor([4, 2, 3])


def padding(lengths):
    """(B, S), true at padding, as PyTorch has it."""
    return torch.arange(int(lengths.max())) >= lengths[:, None]


def causal(positions):
    """(T, T), true where a query may not look."""
    return torch.ones(positions, positions).triu(1).bool()


def attention(case, keys=None, memory=WIDTH, bias=True, padded=False, masked=False):
    """Of the query to itself, or to `keys` positions of something else, `memory` wide."""
    module = exact(nn.MultiheadAttention(WIDTH, HEADS, bias=bias, kdim=memory, vdim=memory, batch_first=True))
    inputs = {"query": draw(3, 4 if keys else 5, WIDTH).requires_grad_()}
    key = inputs["query"]
    if keys:
        key = inputs["memory"] = draw(3, keys, memory).requires_grad_()
    if padded:
        inputs["lengths"] = SOURCE
    output, weights = module(
        inputs["query"],
        key,
        key,
        key_padding_mask=padding(SOURCE) if padded else None,
        attn_mask=causal(5) if masked else None,
        average_attn_weights=False,
    )
    record(case, module, inputs, {"output": output}, seen={"weights": weights})


def layer_options(norm_first, activation):
    return dict(dim_feedforward=INNER, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first)


def encoder_layer(case, norm_first, activation):
    module = exact(nn.TransformerEncoderLayer(WIDTH, HEADS, **layer_options(norm_first, activation)))
    x = draw(3, 5, WIDTH).requires_grad_()
    hidden = padding(SOURCE)
    output = module(x, src_key_padding_mask=hidden)
    record(case, module, {"x": x, "lengths": SOURCE}, {"output": output}, padding=hidden)


def decoder_layer(case, norm_first, activation):
    module = exact(nn.TransformerDecoderLayer(WIDTH, HEADS, **layer_options(norm_first, activation)))
    x, memory = draw(3, 4, WIDTH).requires_grad_(), draw(3, 5, WIDTH).requires_grad_()
    hidden = padding(TARGET)
    output = module(
        x, memory, tgt_mask=causal(4), tgt_key_padding_mask=hidden, memory_key_padding_mask=padding(SOURCE)
    )
    inputs = {"x": x, "memory": memory, "lengths": TARGET, "memory_lengths": SOURCE}
    record(case, module, inputs, {"output": output}, padding=hidden)


class Model(nn.Module):
    """nn.Transformer between word vectors and an output layer, under the names that lookback gives them."""

    def __init__(self, norm_first, words=7):
        super().__init__()
        whole = nn.Transformer(
            WIDTH, HEADS, num_encoder_layers=2, num_decoder_layers=2, **layer_options(norm_first, "relu")
        )
        self.encoder, self.decoder = whole.encoder, whole.decoder
        self.encoder.embedding = nn.Embedding(words, WIDTH)
        self.decoder.embedding = nn.Embedding(words, WIDTH)
        self.decoder.output = nn.Linear(WIDTH, words)

    def forward(self, source, target):
        """Logits (B, T, V) under teacher forcing."""
        scale = WIDTH**0.5
        x = self.encoder.embedding(source) * scale + sinusoids(source.shape[1])
        memory = self.encoder(x, src_key_padding_mask=padding(SOURCE))
        y = self.decoder.embedding(target) * scale + sinusoids(target.shape[1])
        y = self.decoder(
            y,
            memory,
            tgt_mask=causal(target.shape[1]),
            tgt_key_padding_mask=padding(TARGET),
            memory_key_padding_mask=padding(SOURCE),
        )
        return self.decoder.output(y)


def sinusoids(positions):
    """Vaswani et al., 2017, section 3.5."""
    angles = torch.arange(positions).double()[:, None] / 10000 ** (torch.arange(0, WIDTH, 2).double() / WIDTH)
    return torch.stack([angles.sin(), angles.cos()], -1).reshape(positions, WIDTH)


def transformer(case, norm_first):
    module = exact(Model(norm_first))
    source, target = torch.randint(1, 7, (3, 5)), torch.randint(1, 7, (3, 4))
    source[padding(SOURCE)] = 0
    target[padding(TARGET)] = 0
    inputs = {"source": source, "target": target, "source_lengths": SOURCE, "target_lengths": TARGET}
    record(case, module, inputs, {"logits": module(source, target)}, padding=padding(TARGET))


def make():
    attention("attention")
    attention("attention_no_bias", bias=False)
    attention("attention_padded", padded=True)
    attention("attention_causal", masked=True)
    attention("attention_padded_causal", padded=True, masked=True)
    attention("attention_cross", keys=5)
    attention("attention_cross_padded", keys=5, padded=True)
    attention("attention_cross_no_bias", keys=5, bias=False)
    attention("attention_wider_memory", keys=5, memory=10, padded=True)
    attention("attention_narrower_memory_no_bias", keys=5, memory=6, bias=False)
    for norm in ("pre", "post"):
        for activation in ("relu", "gelu"):
            encoder_layer(f"encoder_layer_{norm}_{activation}", norm == "pre", activation)
            decoder_layer(f"decoder_layer_{norm}_{activation}", norm == "pre", activation)
        transformer(f"transformer_{norm}", norm == "pre")
