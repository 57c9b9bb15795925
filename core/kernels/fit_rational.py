#!/usr/bin/env python3
"""Finds the coefficients of the rational tanh and erf, and of the polynomial in exp, in math-inl.h:
fit_rational.py tanh|erf|exp

f(x) = x P(x^2) / Q(x^2) on [0, LIMIT], relative error weighted, by iterated weighted least squares
(Lawson's method on Loeb's linearised problem) at Chebyshev nodes. Past the limit a float's f is 1.
Prints the coefficients, lowest power first, and the largest relative error of the float evaluation.
"""
import math
import sys

import numpy as np

NAME = sys.argv[1]


def fit_exp(degree=4):
    """P in e^r = 1 + r + r^2 P(r), |r| <= ln 2 / 2, by Lawson's method; and the error of the whole in
    float, each multiplication with its addition rounded once."""
    limit, n = math.log(2) / 2 * 1.0001, 4000
    r = limit * np.cos(np.pi * (np.arange(n) + 0.5) / n)
    weight, best = np.ones(n), None
    for _ in range(300):
        w = np.sqrt(weight) * r**2 / np.exp(r)
        target = (np.expm1(r) - r) / r**2
        c, *_ = np.linalg.lstsq(np.vander(r, degree + 1, increasing=True) * w[:, None], target * w, rcond=None)
        error = np.abs((1 + r + r * r * np.polyval(c[::-1], r)) / np.exp(r) - 1)
        if best is None or error.max() < best[0]:
            best = (error.max(), c)
        weight *= np.maximum(error / error.max(), 1e-6) ** 0.5
        weight /= weight.max()
    print("largest relative error, exact arithmetic:", best[0])
    x = np.linspace(-87, 88.7, 2000001).astype(np.float32)
    fma = lambda a, b, c: (a.astype(np.float64) * b + c).astype(np.float32)
    high = np.float32(math.log(2))
    k = np.rint(x * np.float32(1 / math.log(2)))
    s = fma(k, -np.float64(np.float32(math.log(2) - high)), fma(k, -np.float64(high), x))
    c0, c1, c2, c3, c4 = (np.float64(np.float32(a)) for a in best[1])  # in pairs, as VecExpRest adds them
    low, high = fma(s, c1, c0), fma(s, c3, c2)
    square = s * s
    p = fma(square, fma(square, c4, high).astype(np.float64), low)
    y = fma(square, p.astype(np.float64), s) + np.float32(1)
    exact = np.exp(x.astype(np.float64))
    print("largest relative error, float:", np.max(np.abs(np.ldexp(y.astype(np.float64), k.astype(int)) / exact - 1)))
    print("P", ", ".join(f"{a:.9e}f" for a in best[1]))


if NAME == "exp":
    fit_exp()
    sys.exit()
# P, Q: degrees in x^2; Q[0] = 1
FUNCTION, LIMIT, P, Q = {"tanh": (np.tanh, 9.0, 4, 4), "erf": (np.vectorize(math.erf), 4.0, 5, 5)}[NAME]

n = 4000
x = LIMIT * 0.5 * (1 - np.cos(np.pi * (np.arange(n) + 0.5) / n))
u, f = x * x, FUNCTION(x) / x
scale = LIMIT * LIMIT
v = u / scale  # well-conditioned powers
weight = np.ones(n)
denominator = np.ones(n)
best = None
for _ in range(400):
    # P(v) - f Q(v) = 0, divided by f and the last denominator: the relative error
    rows = np.concatenate([np.vander(v, P + 1, increasing=True),
                           -f[:, None] * np.vander(v, Q + 1, increasing=True)[:, 1:]], axis=1)
    w = np.sqrt(weight) / (f * denominator)
    c, *_ = np.linalg.lstsq(rows * w[:, None], f * w, rcond=None)
    p, q = c[:P + 1], np.concatenate([[1.0], c[P + 1:]])
    denominator = np.polyval(q[::-1], v)
    error = np.abs(np.polyval(p[::-1], v) / denominator / f - 1)
    if best is None or error.max() < best[0]:
        best = (error.max(), p.copy(), q.copy())
    weight *= np.maximum(error / error.max(), 1e-6) ** 0.5
    weight /= weight.max()
_, p, q = best
p, q = p / scale ** np.arange(P + 1), q / scale ** np.arange(Q + 1)
print("largest relative error, exact arithmetic:", best[0])


def evaluate(x32):
    x32 = np.minimum(np.maximum(x32, np.float32(-LIMIT)), np.float32(LIMIT))
    u32 = x32 * x32
    top, bottom = np.float32(p[-1]), np.float32(q[-1])
    for a in p[-2::-1]:
        top = (top.astype(np.float64) * u32 + np.float64(np.float32(a))).astype(np.float32)
    for a in q[-2::-1]:
        bottom = (bottom.astype(np.float64) * u32 + np.float64(np.float32(a))).astype(np.float32)
    return np.clip(x32 * top / bottom, np.float32(-1), np.float32(1))


grid = np.concatenate([np.linspace(-LIMIT * 4 / 3, LIMIT * 4 / 3, 2000001), 10.0 ** np.linspace(-30, 0, 100001)]).astype(np.float32)
grid = grid[grid != 0]
exact = FUNCTION(grid.astype(np.float64))
print("largest relative error, float:", np.max(np.abs(evaluate(grid) / exact - 1)))
print("largest value:", np.max(np.abs(evaluate(grid))))
for name, values in (("P", p), ("Q", q)):
    print(name, ", ".join(f"{a:.9e}f" for a in values))
