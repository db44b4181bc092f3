# SPDX-License-Identifier: Apache-2.0
"""A STAND-IN, not torch: the names that host-tools/stage_export.py uses, so
that it can be tested without torch. A tensor is a list of numbers with a shape
and a type; modules have hooks. What it proves: the exporter's names, files and
sentences. What it does not: anything about torch.

TORCH_STANDIN chooses what goes wrong."""
import contextlib
import os
import pickle
import struct

__version__ = "0.0.standin"
mode = os.environ.get("TORCH_STANDIN", "")
if mode == "broken":
    raise RuntimeError("libtorch.so is of another machine")


class dtype:
    def __init__(self, name, code):
        self.name, self.code = name, code

    def __str__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


float32 = dtype("float32", "f")
float64 = dtype("float64", "d")
bfloat16 = dtype("bfloat16", "")
int8 = dtype("int8", "b")
int64 = dtype("int64", "q")
qint8 = dtype("qint8", "")


class _Bytes:
    def __init__(self, data):
        self.data = data

    def tobytes(self):
        return self.data


class Tensor:
    is_quantized = False

    def __init__(self, values, shape, kind=float32):
        self.values, self.shape, self.dtype = list(values), tuple(shape), kind

    def detach(self):
        return self

    cpu = contiguous = detach

    def float(self):
        return Tensor(self.values, self.shape)

    def reshape(self, *shape):
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        return Tensor(self.values, (len(self.values),) if shape == (-1,)
                      else shape, self.dtype)

    def tolist(self):
        return self.values

    def as_subclass(self, cls):
        return cls(self.values, self.shape, self.dtype)

    def numpy(self):
        if not self.dtype.code:
            raise TypeError("Got unsupported ScalarType " + self.dtype.name)
        return _Bytes(struct.pack("<%d%s" % (len(self.values),
                                             self.dtype.code), *self.values))

    def q_scale(self):
        raise RuntimeError("this tensor is not quantized")


class Quantized(Tensor):
    """As torch's own: integers inside."""
    is_quantized = True

    def dequantize(self):
        return Tensor(self.values, self.shape)

    def q_scale(self):
        return 0.25


class Fake(Tensor):
    """As a vendor's subclass: real values, with a scale as a tensor."""

    def q_scale(self):
        return Tensor([0.5], (1,))


def frombuffer(data, dtype=float32):
    n = len(data) // struct.calcsize(dtype.code)
    return Tensor(struct.unpack("<%d%s" % (n, dtype.code), data), (n,), dtype)


@contextlib.contextmanager
def no_grad():
    yield


class _Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        self.hooks.remove(self.hook)


class Module:
    def __init__(self, **inner):
        self.inner, self.hooks, self.training = inner, [], True
        for name, module in inner.items():
            setattr(self, name, module)

    def children(self):
        return iter(self.inner.values())

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, module in self.inner.items():
            yield from module.named_modules(
                prefix + "." + name if prefix else name)

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return _Handle(self.hooks, hook)

    def eval(self):
        for _, module in self.named_modules():
            module.training = False

    def __call__(self, *args, **named):
        out = self.forward(*args, **named)
        for hook in self.hooks:
            hook(self, args, out)
        return out


class Scale(Module):
    def __init__(self, factor, cls=Tensor, kind=float32):
        Module.__init__(self)
        self.factor, self.cls, self.kind = factor, cls, kind

    def forward(self, x):
        return self.cls([v * self.factor for v in x.values], x.shape,
                        self.kind)


class Split(Module):
    def forward(self, x):
        n = len(x.values) // 2
        return (Tensor(x.values[:n], (n,)),
                {"rest": Tensor(x.values[n:], (len(x.values) - n,))})


class Net(Module):
    """conv (a fake-quantized subclass), act (used twice), split (a tuple and a
    dict), half (bfloat16)."""

    def __init__(self, factor=1.0, quantized=Fake):
        Module.__init__(self, conv=Scale(2.0, quantized), act=Scale(factor),
                        split=Split(), half=Scale(1.0, Tensor, bfloat16))

    def forward(self, x):
        if mode == "raise":
            raise ValueError("Expected 4 channels, got 3")
        if self.training:
            raise RuntimeError("the model is in training state")
        x = self.act(self.act(self.conv(x)))
        a, rest = self.split(x)
        return {"boxes": self.half(a), "scores": rest["rest"]}


class Wrapped(Module):
    """As DistributedDataParallel: a name in front of all."""

    def __init__(self, net):
        Module.__init__(self, module=net)

    def forward(self, x):
        return self.module(x)


def load(path, map_location=None, weights_only=True):
    if weights_only:
        raise RuntimeError("Weights only load failed")
    with open(path, "rb") as f:
        return pickle.load(f)
