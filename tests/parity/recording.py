"""What every case is made of, and the file that the cases go to.

Every tensor is called CASE/KIND.NAME, of the kinds
    parameter    a module's state_dict(): what lookback loads by name, as it would a model file
    input        what a case is run on
    result       what PyTorch makes of them
    coefficient  c in the loss sum_i c_i y_i over the results y; where it is 0 the result is not compared (padding)
    gradient     of that loss, by every parameter and every input that is a leaf
    seen         a result that is compared but does not count in the loss (attention weights)
Parameters, inputs and coefficients are float32 numbers; PyTorch computes in float64, and what it makes is stored in
float64. So one file serves both precisions of lookback.
"""

import json
import struct

import torch

numbers = {}


def draw(*shape):
    return torch.randn(shape).double()  # float32 values, float64 arithmetic


def exact(module):
    """The module in float64 with float32 weights; those that start as 0 or 1 are drawn too, else they show nothing."""
    with torch.no_grad():
        for p in module.float().parameters():
            if p.dim() == 1:
                p.add_(torch.randn(p.shape), alpha=0.2)
    return module.double()


def record(case, module, inputs, results, seen=None, padding=None):
    """Stores a case. `padding` (B, T) is true where results (B, T, ...) mean nothing."""

    def store(kind, name, tensor, dtype):
        assert torch.equal(tensor, tensor.to(dtype).to(tensor.dtype)), f"{case}/{kind}.{name} is rounded"
        key = f"{case}/{kind}.{name}"
        assert key not in numbers, key
        numbers[key] = tensor.detach().to(dtype)

    parameters = dict(module.named_parameters()) if module else {}
    loss = 0
    for name, result in results.items():
        coefficient = draw(*result.shape)
        if padding is not None:
            coefficient[padding] = 0
        store("coefficient", name, coefficient, torch.float32)
        store("result", name, result, torch.float64)
        loss = loss + (coefficient * result).sum()
    loss.backward()
    for name, tensor in (seen or {}).items():
        store("seen", name, tensor, torch.float64)
    for name, tensor in parameters.items():
        store("parameter", name, tensor, torch.float32)
    for name, tensor in inputs.items():
        store("input", name, tensor, torch.float32)
    for name, tensor in {**parameters, **inputs}.items():
        if tensor.requires_grad:
            store("gradient", name, tensor.grad, torch.float64)


def write(path):
    types = {torch.float32: ("F32", "<f4"), torch.float64: ("F64", "<f8")}
    header, data = {}, bytearray()
    # The wider type first: every tensor then stands at a multiple of its size.
    for name, tensor in sorted(numbers.items(), key=lambda item: item[1].dtype != torch.float64):
        dtype, numpy_type = types[tensor.dtype]
        raw = tensor.contiguous().numpy().astype(numpy_type).tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header["__metadata__"] = {"made_by": f"tests/parity/make_numbers.py, torch {torch.__version__}"}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))
