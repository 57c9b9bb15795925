"""The models of lookback as PyTorch modules, under lookback's parameter names.

load_state_dict() takes the tensors of a model file as they are, and state_dict() gives what a model file needs:
    encoder.embedding, decoder.embedding     nn.Embedding
  recurrent:
    encoder.rnn, decoder.rnn                 nn.RNN, nn.GRU, nn.LSTM; gates in PyTorch's order. The first layer
                                             of the decoder reads [word vector; context].
    decoder.attention.query, .key, .v        score v . tanh(W_q s + W_k h): two nn.Linear without bias, a vector
    decoder.bridge.hidden_l0, .cell_l0       nn.Linear: the decoder starts from tanh(W h + b)
    decoder.output                           nn.Linear on [state; context]
  Transformer:
    encoder.layers.0, encoder.norm           the encoder of nn.Transformer, its last norm included
    decoder.layers.0, decoder.norm           its decoder
    encoder.positions, decoder.positions     nn.Embedding, where positions are learned
    decoder.output                           nn.Linear

The forward passes take one sentence, or sentences of one length: nothing is padded. Options that these modules do
not have are refused, not guessed.
"""

import sys

import torch
from torch import nn


def refuse_other(section, **known):
    """Exits where an option is given that has another value than the ones known here."""
    for key, values in known.items():
        if section.get(key, values[0]) not in values:
            sys.exit(f"these modules know {key}: {' or '.join(map(str, values))}, not {section[key]}")


class Recurrent(nn.Module):
    """Encoder-decoder with Bahdanau's attention, for one sentence at a time or sentences of one length."""

    def __init__(self, model, source_words, target_words):
        super().__init__()
        encoder, decoder, self.initial = model["encoder"], model["decoder"], model["decoder"]["initial_state"]
        refuse_other(model["attention"], type=["bahdanau"], query=["previous"], input_feeding=[False])
        kinds = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
        units, states = decoder["hidden"], encoder["hidden"] * (2 if encoder["bidirectional"] else 1)
        self.encoder = nn.ModuleDict({
            "embedding": nn.Embedding(source_words, encoder["embedding"]),
            "rnn": kinds[encoder["cell"]](encoder["embedding"], encoder["hidden"], encoder["layers"],
                                          batch_first=True, bidirectional=encoder["bidirectional"]),
        })
        scored = units if model["attention"]["units"] == "auto" else model["attention"]["units"]
        attention = nn.ModuleDict({
            "query": nn.Linear(units, scored, bias=False),
            "key": nn.Linear(states, scored, bias=False),
        })
        attention.v = nn.Parameter(torch.empty(scored).uniform_(-(scored**-0.5), scored**-0.5))
        self.decoder = nn.ModuleDict({
            "embedding": nn.Embedding(target_words, decoder["embedding"]),
            "rnn": kinds[decoder["cell"]](decoder["embedding"] + states, units, decoder["layers"], batch_first=True),
            "attention": attention,
            "bridge": nn.ModuleDict(),
            "output": nn.Linear(units + states, target_words),
        })
        if self.initial == "bridge":
            for layer in range(decoder["layers"]):
                for part in ("hidden", "cell") if decoder["cell"] == "lstm" else ("hidden",):
                    self.decoder["bridge"][f"{part}_l{layer}"] = nn.Linear(states, units)

    def start(self, last):
        """The decoder's first state of the encoder's last ones, (layers x directions, B, D) each."""
        decoder, directions = self.decoder, 2 if self.encoder["rnn"].bidirectional else 1
        out = []
        for i, part in enumerate(("hidden", "cell") if isinstance(decoder["rnn"], nn.LSTM) else ("hidden",)):
            state = last[min(i, len(last) - 1)]  # an LSTM's cell starts from the hidden state where there is no other
            state = [torch.cat(list(layer), -1) for layer in state.split(directions)]
            for l in range(decoder["rnn"].num_layers):
                h = state[min(l, len(state) - 1)]
                if self.initial == "bridge":
                    h = decoder["bridge"][f"{part}_l{l}"](h).tanh()
                elif self.initial == "zero" or i >= len(last):
                    h = h.new_zeros(len(h), decoder["rnn"].hidden_size)
                out.append(h)
        hidden = torch.stack(out[: decoder["rnn"].num_layers])
        cell = out[decoder["rnn"].num_layers :]
        return (hidden, torch.stack(cell)) if cell else hidden

    def forward(self, source, target):
        """source (B, S), with the end mark; target (B, T), with the begin mark -> logits (B, T, V)."""
        decoder, attention = self.decoder, self.decoder["attention"]
        values, last = self.encoder["rnn"](self.encoder["embedding"](source))
        keys = attention["key"](values)
        state = self.start(last if isinstance(last, tuple) else (last,))
        logits = []
        for word in decoder["embedding"](target).split(1, dim=1):
            s = (state[0] if isinstance(state, tuple) else state)[-1]
            weights = ((attention["query"](s)[:, None] + keys).tanh() @ attention.v).softmax(-1)
            context = weights[:, None] @ values  # (B, 1, states)
            output, state = decoder["rnn"](torch.cat([word, context], -1), state)
            logits.append(decoder["output"](torch.cat([output, context], -1)))
        return torch.cat(logits, 1)


def sinusoids(positions, width):
    """(positions, width): sin in even columns, cos in odd ones (Vaswani et al., 2017)."""
    powers = torch.arange(0, width, 2, dtype=torch.float64) / width
    angles = torch.arange(positions, dtype=torch.float64)[:, None] / 10000**powers
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width]


class Transformer(nn.Module):
    """nn.Transformer between word vectors, positions and an output layer."""

    def __init__(self, model, source_words, target_words):
        super().__init__()
        encoder, decoder = model["encoder"], model["decoder"]
        width, heads = encoder["width"], encoder["heads"]
        # nn.Transformer has one set of options for both sides, and a bias everywhere.
        for side in encoder, decoder:
            refuse_other(side, key_value_heads=["auto", heads], bias=[True])
        for key in "width", "heads", "feed_forward", "norm", "activation", "positions":
            refuse_other(decoder, **{key: [encoder[key]]})
        whole = nn.Transformer(width, heads, encoder["layers"], decoder["layers"], encoder["feed_forward"], dropout=0.0,
                               activation=encoder["activation"], norm_first=encoder["norm"] == "pre", batch_first=True)
        self.encoder, self.decoder = whole.encoder, whole.decoder
        for side, words in (self.encoder, source_words), (self.decoder, target_words):
            side.embedding = nn.Embedding(words, width)
            nn.init.normal_(side.embedding.weight, std=width**-0.5)  # lookback multiplies it by sqrt(width)
            side.kind = encoder["positions"]
            if side.kind == "learned":
                positions = model["encoder" if side is self.encoder else "decoder"]["max_positions"]
                side.positions = nn.Embedding(positions, width)
        self.decoder.output = nn.Linear(width, target_words)

    @staticmethod
    def vectors(side, ids):
        """sqrt(D) times the word vectors, and positions."""
        x = side.embedding(ids) * side.embedding.embedding_dim**0.5
        if side.kind == "learned":
            x = x + side.positions.weight[: ids.shape[1]]
        if side.kind == "sinusoidal":
            x = x + sinusoids(*x.shape[1:]).to(x)
        return x

    def forward(self, source, target):
        """source (B, S), with the end mark; target (B, T), with the begin mark -> logits (B, T, V)."""
        memory = self.encoder(self.vectors(self.encoder, source))
        later = torch.ones(2 * target.shape[1:], dtype=torch.bool).triu(1)  # no query sees a key after it
        return self.decoder.output(self.decoder(self.vectors(self.decoder, target), memory, tgt_mask=later))


def build(config, source_words, target_words):
    """The module for the resolved config of a lookback model."""
    model = config["model"]
    refuse_other(model, tie_embeddings=["none"])
    refuse_other(model["encoder"], type=["recurrent", "transformer"])
    refuse_other(model["decoder"], type=[model["encoder"]["type"]])
    family = {"recurrent": Recurrent, "transformer": Transformer}[model["encoder"]["type"]]
    return family(model, source_words, target_words)
