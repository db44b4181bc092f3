# SPDX-License-Identifier: Apache-2.0
"""Faults of the ranking. A seed's maker writes the files that somebody with
this fault would have and gives the command that he would run; with is_faulty
False the same without the fault, its clean twin.
"""
import os
import shutil
import sys

import npz
import ranking_arith as arith
import ranking_case as rc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import fed  # noqa: E402


class Seed:
    def __init__(self, letter, variant, case, make, *args):
        self.letter, self.variant, self.case = letter, variant, case
        self.make, self.args = make, args
        self.gap = ""  # why no cause is named yet, as a sentence

    def without_cause(self, why):
        self.gap = why
        return self

    def command(self, tool, work, is_faulty):
        return self.make(tool, self.case, work, is_faulty, *self.args)


def column(case, work, arrays, samples=0):
    return ["run", case.copy(work, samples), "--local", "--bpu",
            rc.write(work, "board", arrays)]


# ---- f, g: a layer that computes otherwise ----------------------------------

def computed(tool, case, work, is_faulty, function, layer, fault):
    """Board: the layer's inputs, and its output as Python computes it."""
    nodes, constants, out = case.nodes(), case.constants(), []
    for have in case.samples()[:2]:
        have.update(constants)
        name, y = function(nodes, constants, have, layer,
                           fault if is_faulty else "")
        n = arith.node_of(nodes, layer)
        x = n.inputs[0].replace("_DequantizeLinear_Output",
                                ".y_QuantizeLinear_Output")
        if x not in have:
            x = n.inputs[0].replace("DequantizeLinear", "QuantizeLinear")
        out.append({x: have[x], name: y})
    return column(case, work, out, 2)


def mutated(tool, case, work, is_faulty, layer, edit):
    """Board: all tensors of a model with one edited layer."""
    folder, model = case.copy(work), ["-m"]
    if is_faulty:
        tool.run("mutate", folder, "--layer", layer, "--set", edit, "-o",
                 work + "/edited.slice", "-q")
        model.append(work + "/edited.slice")
    else:
        model += [folder + "/" + case.file, "--numerics", "nash"]
    tool.run("run", *model, "-i", folder + "/inputs", "-r",
             folder + "/golden", "--local", "-q", "--save-outputs", "-o",
             work + "/made", ok=(0, 1, 5))
    return ["run", folder, "--local", "--bpu", work + "/made/outputs"]


# ---- b, d: a layer's tensor that lies otherwise -----------------------------

def arranged(tool, case, work, is_faulty, inputs, tensor, change):
    out = []
    for have in case.samples():
        have[tensor] = change(have[tensor]) if is_faulty else have[tensor]
        out.append({n: have[n] for n in inputs + [tensor]})
    return column(case, work, out)


def left_over(tool, case, work, is_faulty):
    """A dump of the last sample that holds what the one before gave."""
    have = case.samples()
    out = have[:-1] + ([have[-2]] if is_faulty else [have[-1]])
    return column(case, work, out)


def simulated(tool, case, work, is_faulty):
    """The compiled model's own results, as they came with the case."""
    return ["run", case.copy(work), "--local", "--sim",
            case.source + ("/sim" if is_faulty else "/golden")]


# ---- a, b, c: what is fed ---------------------------------------------------

def stored(work, name, descr, shape, data):
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(npz.bytes_of(npz.Array(descr, shape, bytes(data))))
    return path


def sheared_bytes(data, row, align):
    a = npz.Array("|u1", (len(data),), data)
    return rc.sheared(a, row, align).data


def pictured(tool, case, work, is_faulty, wanted, feed, width, height):
    """A picture, what the model wants of it, and what the script fed."""
    w, h, rgb = width, height, fed.picture(width, height)
    with open(work + "/photo.png", "wb") as f:
        f.write(fed.png(w, h, rgb))
    how = {"nv12": "nv12", "rgb": "rgb", "bgr": "bgr",
           "yuv444_128": "yuv-128"}[wanted]
    align = 0
    if is_faulty:
        how, _, align = feed.partition("/")
    if how.startswith("yuv"):
        descr, shape, data = "|u1", (1, h, w, 3), bytes(fed.yuv(rgb, fed.FULL))
        if how == "yuv-128":
            descr, data = "|i1", bytes(v ^ 128 for v in data)
    else:
        descr, shape, data = fed.feed(h, w, rgb, how)
    if align:
        row = shape[2] * shape[3] if len(shape) == 4 else shape[1]
        data = sheared_bytes(bytes(data), row, int(align))
    more = ["--range", "full"] if wanted in ("nv12", "yuv444_128") else []
    return ["image", work + "/photo.png", "--got",
            stored(work, "fed.npy", descr, shape, data), "--as",
            wanted, "--size", "%dx%d" % (w, h), *more]


def floats(rgb, how, is_nchw):
    """The pixels as the model's first layer has them, with one fault."""
    if how == "bgr":
        rgb = fed.bgr(rgb)
    if is_nchw:
        rgb = fed.nchw(rgb)
    scale = 255 if how == "divided" else 1
    return fed.floats([v / scale for v in rgb])


def photographed(tool, case, work, is_faulty, name, wanted, how, shape):
    """A picture is the model's input; the board had other pixels. The clean
    board has all tensors of a run."""
    is_nchw, gray = shape[3] > 3, wanted == "gray"
    h, w = shape[2:] if is_nchw else shape[1:3]
    rgb = fed.picture(w, h)
    if gray:
        rgb = bytes(v for v in rgb[::3] for _ in range(3))
    with open(work + "/0000.png", "wb") as f:
        f.write(fed.png(w, h, rgb))
    folder = case.copy(work)
    command = ["run", "-m", folder + "/" + case.file, "-i",
               work + "/0000.png", "--as", wanted, "--local"]
    if os.path.exists(folder + "/scales.json"):
        command += ["--scales", folder + "/scales.json"]
    if gray:
        command += ["--set", "divide=1"]
        how = {"": "divided", "not divided": ""}[how if is_faulty else ""]
    elif not is_faulty:
        how = ""
    tool.run(*command, "-q", "--save-outputs", "-o", work + "/made",
             ok=(0, 5))
    command += ["-r", work + "/made/outputs"]
    if not is_faulty:
        return command + ["--bpu", work + "/made/outputs"]
    data = floats(rgb[::3] if gray else rgb, how, is_nchw and not gray)
    return command + ["--bpu", rc.write(work, "board", [
        {name: npz.Array("<f4", shape, bytes(data))}])]


def received(tool, case, work, is_faulty, change):
    """Board: all tensors are right for what it got, which is not what was
    given. Only the inputs are dumped, and the outputs of the clean twin."""
    given = case.samples("inputs")
    if not is_faulty:
        return column(case, work, [dict(g, **i) for g, i in
                                   zip(case.samples(), given)])
    got = [{k: change(i, k, a, given) for k, a in s.items()}
           for i, s in enumerate(given)]
    return column(case, work, got)


def times(x):
    def change(i, name, a, given):
        return arith.array(a, [v * x for v in arith.values(a)])
    return change


def channels_reversed(axis):
    def change(i, name, a, given):
        inner = a.width
        for d in a.shape[axis + 1:]:
            inner *= d
        n, out = a.shape[axis] * inner, []
        for p in range(0, len(a.data), n):
            out += [a.data[p + k:p + k + inner]
                    for k in range(n - inner, -1, -inner)]
        return npz.Array(a.descr, a.shape, b"".join(out))
    return change


def top_bit(i, name, a, given):
    return npz.Array(a.descr, a.shape, bytes(v ^ 128 for v in a.data))


def the_one_before(i, name, a, given):
    return given[max(i - 1, 0)][name]


def axes(order):
    def change(i, name, a, given):
        return rc.permuted(a, order)
    return change


def exchanged(i, name, a, given):
    names = sorted(given[i])
    return given[i][names[1 - names.index(name)]]


# ---- b, c, d, h: what is read -----------------------------------------------

def read(tool, case, work, is_faulty, name, change):
    """An output as an application has it: change(sample, goldens)."""
    goldens = case.samples()
    got = [{name: change(i, goldens) if is_faulty else g[name]}
           for i, g in enumerate(goldens)]
    return ["output", case.copy(work), "--got", rc.write(work, "read", got)]


def permuted_output(name, order):
    return lambda i, g: rc.permuted(g[i][name], order)


def strided_output(name, align):
    return lambda i, g: rc.sheared(
        g[i][name], g[i][name].shape[3] * g[i][name].width, align)


def other(name):
    return lambda i, g: g[i][name]


def squared(name, integers):
    """The scale once more: of an output that has one scale for all."""
    def change(i, g):
        y, q = arith.values(g[i][name]), arith.values(g[i][integers])
        s = next(arith.f32(a / b) for a, b in zip(y, q) if abs(b) > 20)
        return arith.array(g[i][name], [v * s for v in y])
    return change


def before(name):
    return lambda i, g: g[max(i - 1, 0)][name]


def stale_lines(name, first, count):
    return lambda i, g: rc.stale(g[i][name], g[max(i - 1, 0)][name],
                                 first, count)


# ---- e: versions ------------------------------------------------------------

LOG = """[BPU_PLAT]BPU Platform Version(1.3.6)! soc info(%s)
[HBRT] set log level as 0. version = %s
[DNN] Runtime version = 1.24.5_(%s HBRT)
"""


def logged(tool, case, work, is_faulty, soc, version, wrong_soc,
           wrong_version):
    """The runtime's log of the board on which the model was run."""
    if is_faulty:
        soc, version = wrong_soc, wrong_version
    with open(work + "/runtime.log", "w", encoding="utf-8") as f:
        f.write(LOG % (soc, version, version))
    return ["run", case.copy(work), "--local", "--vendor",
            work + "/runtime.log"]


def configured(tool, case, work, is_faulty, march, wrong):
    with open(work + "/build.yaml", "w", encoding="utf-8") as f:
        f.write("model_parameters:\n  onnx_model: 'm.onnx'\n  march: '%s'\n"
                "  output_model_file_prefix: 'm'\n"
                "compiler_parameters:\n  compile_mode: 'latency'\n" %
                (wrong if is_faulty else march))
    return ["run", case.copy(work), "--local", "--vendor",
            work + "/build.yaml"]


# ---- i: what was not built anew ---------------------------------------------

def altered(path):
    """The model's file with other weights in one layer."""
    with open(path, "rb") as f:
        data = f.read()
    old, new = b"[[949, 1, 0, 1, 17247, 20]", b"[[9490, 1, 0, 1, 17247, 20]"
    if old not in data:
        w = next(a.data for a in rc.wire.constants(path).values()
                 if a.descr == "|i1" and len(a.data) > 60)
        old, new = w, w[::-1]
    assert data.count(old) == 1
    with open(path, "wb") as f:
        f.write(data.replace(old, new))


def rebuilt(tool, case, work, is_faulty, how, numerics):
    """Two runs; the model is changed between them. What the compiled model
    gave is the engine's own results on the model that was compiled."""
    folder = case.copy(work)
    shutil.rmtree(folder + "/golden")
    os.unlink(folder + "/case.json")
    model = folder + "/" + case.file

    def build(text):
        with open(folder + "/model.bin", "w", encoding="utf-8") as f:
            f.write("compiled " + text)

    def give():
        to = rc.temporary(work)
        shutil.rmtree(folder + "/sim", ignore_errors=True)
        tool.run("run", folder, "--local", "-q", "--numerics", numerics,
                 "--save-outputs", "-o", to, ok=(0, 5))
        os.rename(to + "/outputs", folder + "/sim")

    command = ["run", folder, "--local", "--numerics", numerics]
    build("first")
    give()
    tool.run(*command, "-q", "-o", work + "/first", ok=(0, 5))
    altered(model)
    if not is_faulty or how == "not installed":
        build("second")
    if not is_faulty:
        give()
        os.rename(folder + "/sim", folder + "/golden")
        shutil.copytree(folder + "/golden", folder + "/sim")
    return command + ["--previous", work + "/first/report.json"]
