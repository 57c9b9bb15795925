"""The models and shapes that lookback and PyTorch are compared on, as configs/bench has them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Case:
    """Sizes that every case has. Lengths count the end mark, as those of `lookback bench` do."""

    batch: int  # B
    source: int  # S
    target: int  # T
    words: int  # V, of either side
    steps: int  # timed in a run of compare.py, where --steps does not say otherwise
    required: float | None = None  # times PyTorch's speed that lookback is to reach

    def common_shape(self):
        return f"B={self.batch} S={self.source} T={self.target} V={self.words}"


@dataclass(frozen=True, kw_only=True)
class Recurrent(Case):
    """Encoder and decoder of one layer each, as wide as each other."""

    cell: str  # gru | lstm
    attention: str  # none | bahdanau | luong: the latter two are asked by s_(t-1), inside the loop
    embedding: int  # E
    hidden: int  # D

    def shape(self):
        return f"{self.common_shape()} E={self.embedding} D={self.hidden}"

    def forward_products(self):
        """Multiply-adds of the forward pass, two operations each."""
        B, S, T, V = self.batch, self.source, self.target, self.words
        E, D = self.embedding, self.hidden
        gates = {"gru": 3, "lstm": 4}[self.cell]
        attends = self.attention != "none"
        encoder = 2 * B * S * gates * D * (E + D)
        decoder = 2 * B * T * gates * D * (E + D + (D if attends else 0))
        if not attends:  # W_o [s_t; c]: the share of c is worked out once a sentence
            return encoder + decoder + 2 * B * T * D * V + 2 * B * D * V
        output = 2 * B * T * 2 * D * V
        keys = 2 * B * S * D * D
        queries = 2 * B * T * D * D if self.attention == "bahdanau" else 0
        scores_and_contexts = 2 * B * T * S * (D + D)
        return encoder + decoder + output + keys + queries + scores_and_contexts


@dataclass(frozen=True, kw_only=True)
class Transformer(Case):
    """Encoder and decoder with the same sizes; pre-norm, relu, sinusoidal positions, no dropout."""

    width: int  # D
    heads: int
    feed_forward: int  # F
    layers: int  # of either side

    def shape(self):
        return (f"{self.common_shape()} D={self.width} heads={self.heads} F={self.feed_forward} "
                f"layers={self.layers}+{self.layers}")

    def forward_products(self):
        """As above. Causal attention counts in full, though half of its scores are masked."""
        B, S, T, V = self.batch, self.source, self.target, self.words
        D, F = self.width, self.feed_forward
        feed_forward = 2 * D * F
        encoder = 2 * B * S * (4 * D * D + feed_forward + 2 * S * D)
        self_attention = 2 * B * T * (4 * D * D + 2 * T * D)
        cross_attention = 2 * B * (T * 2 * D * D + S * 2 * D * D + 2 * T * S * D)
        decoder = self_attention + cross_attention + 2 * B * T * feed_forward
        return self.layers * (encoder + decoder) + 2 * B * T * D * V


CASES = {
    "gru_fixed": Recurrent(
        cell="gru", attention="none", batch=64, source=30, target=30, words=1000,
        embedding=128, hidden=256, steps=30),
    "lstm_fixed": Recurrent(
        cell="lstm", attention="none", batch=64, source=30, target=30, words=1000,
        embedding=128, hidden=256, steps=30, required=1.35),
    "gru_bahdanau": Recurrent(
        cell="gru", attention="bahdanau", batch=64, source=30, target=30, words=1000,
        embedding=128, hidden=256, steps=30, required=2.4),
    "lstm_luong": Recurrent(
        cell="lstm", attention="luong", batch=64, source=50, target=50, words=1000,
        embedding=256, hidden=512, steps=8, required=2.0),
    "transformer_d256": Transformer(
        width=256, heads=4, feed_forward=1024, layers=3, batch=32, source=64, target=64,
        words=1000, steps=8, required=1.3),
    "transformer_d512": Transformer(
        width=512, heads=8, feed_forward=2048, layers=3, batch=32, source=64, target=64,
        words=8000, steps=4, required=1.2),
    "transformer_long": Transformer(
        width=256, heads=4, feed_forward=1024, layers=2, batch=2, source=1024, target=1024,
        words=1000, steps=8, required=1.5),
    "toy": Recurrent(
        cell="gru", attention="bahdanau", batch=32, source=20, target=20, words=64,
        embedding=64, hidden=128, steps=60, required=3.0),
}


def step_gflop(case):
    """Operations of all matrix products in one training step of CASES[case], in 10^9.

    A product of (M, K) x (K, N) is 2MNK forward and twice that backward. A score's product with v,
    scores and weighted sums count as the products that they are; the gradient of the first layer's
    input (the embedding) is needed and counted.
    """
    return 3 * CASES[case].forward_products() / 1e9
