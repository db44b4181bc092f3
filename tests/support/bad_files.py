# SPDX-License-Identifier: Apache-2.0
"""Makes broken files from a good case and lists them on stdout:
KIND <tab> PATH <tab> REGEX of what the refusal must name.

bad_files.py CASE OUT       needs only Python's own library
"""

import glob
import io
import os
import shutil
import sys
import zipfile

CASE, OUT = sys.argv[1:3]
os.makedirs(OUT)
MODEL = open(os.path.join(CASE, "model.onnx"), "rb").read()
INPUT = sorted(glob.glob(os.path.join(CASE, "inputs", "*.npz")))[0]
GOLDEN = sorted(glob.glob(os.path.join(CASE, "golden", "*.npz")))[0]


def put(name, data):
    path = os.path.join(OUT, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def say(kind, path, regex=None):
    print("%s\t%s\t%s" % (kind, path, regex or
                          os.path.basename(path).replace(".", r"\.")))


def members(path):
    with zipfile.ZipFile(path) as z:
        return [(i.filename, z.read(i)) for i in z.infolist()]


def npz(parts, kind=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as z:
        for name, data in parts:
            z.writestr(name, data)
    return out.getvalue()


def npy(descr, shape, data):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
        descr, shape)
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") +
            text.encode("latin-1") + data)


def models():
    say("model", os.path.join(OUT, "absent.onnx"))
    say("model", put("empty.onnx", b""))
    say("model", put("text.onnx", b"this is no model\n" * 20))
    say("model", put("zip.onnx", open(INPUT, "rb").read()))
    for k in (1, 3, 10, 50, 75, 99):
        say("model", put("cut%d.onnx" % k, MODEL[:len(MODEL) * k // 100]))
    say("model", put("garbage-behind.onnx", MODEL + b"\xff" * 9))
    # A length that points far beyond the end.
    say("model", put("length.onnx", MODEL[:2] + b"\x3a\xff\xff\xff\xff\x7f" +
                     MODEL[2:40]))
    say("model", put("zeros.onnx", bytes(4096)))
    folder = os.path.join(OUT, "folder.onnx")
    os.mkdir(folder)
    say("model", folder)


def inputs():
    good = members(INPUT)
    name, data = [m for m in good if not m[0].startswith("__")][0]
    with open(INPUT, "rb") as f:
        raw = f.read()
    say("input", os.path.join(OUT, "absent.npz"))
    say("input", put("empty.npz", b""))
    say("input", put("text.npz", b"hello\n" * 50))
    say("input", put("cut.npz", raw[:len(raw) // 2]))
    say("input", put("no-array.npz", npz([])))
    say("input", put("other-name.npz", npz([("nobody.npy", data)])))
    bad = {
        "magic": b"\x93NUMPX" + data[6:],
        "version": data[:6] + b"\x09" + data[7:],
        "header-length": data[:8] + b"\xff\xff" + data[10:],
        "header-cut": data[:20],
        "data-cut": data[:-3],
        "data-behind": data + b"\0" * 7,
        "no-dict": npy("<f4", "(1,)", b"")[:10] + b"x" * 118,
        "dtype": npy("<q9", "(1,)", bytes(8)),
        "objects": npy("|O", "(1,)", bytes(8)),
        "big-endian": npy(">f8", "(1, 1, 8, 8)", bytes(512)),
        "shape-negative": npy("|u1", "(-1, 4)", bytes(4)),
        "shape-huge": npy("|u1", "(4294967296, 4294967296, 16)", bytes(4)),
        "shape-rank": npy("|u1", "(" + "1, " * 40 + ")", bytes(1)),
        "shape-other": npy("|u1", "(1, 3, 5, 7)", bytes(105)),
        "complex": npy("<c8", "(1, 1, 8, 8)", bytes(512)),
    }
    for label, content in bad.items():
        say("input", put(label + ".npz", npz([(name, content)])))
    # Deflated data whose checksum is wrong.
    broken = bytearray(npz([(name, data)], zipfile.ZIP_DEFLATED))
    at = broken.find(name.encode()) + len(name) + 4
    broken[at] ^= 0x55
    say("input", put("deflate.npz", bytes(broken)))
    say("input", put("bare.npy", data[:30]))


def cases():
    def copy(label):
        path = os.path.join(OUT, label)
        shutil.copytree(CASE, path)
        for folder, _, names in os.walk(path):
            os.chmod(folder, 0o755)
            for n in names:
                os.chmod(os.path.join(folder, n), 0o644)
        return path

    say("case", os.path.join(OUT, "case-absent"))
    path = os.path.join(OUT, "case-empty")
    os.mkdir(path)
    say("case", path)
    path = copy("case-no-inputs")
    shutil.rmtree(os.path.join(path, "inputs"))
    say("case", path, "input")
    for label, text in (("json", b"{ not json"), ("list", b"[1, 2]"),
                        ("hash", b'{"model_sha256": 7}'),
                        ("other", b'{"model_sha256": "%s"}' % (b"0" * 64))):
        path = copy("case-" + label)
        with open(os.path.join(path, "case.json"), "wb") as f:
            f.write(text)
        if label == "other":
            # Only the goldens' own note may speak for them; here none does.
            for g in glob.glob(os.path.join(path, "golden", "*.npz")):
                with open(g, "rb") as f:
                    pass
                keep = [m for m in members(g) if m[0] != "__meta__.npy"]
                with open(g, "wb") as f:
                    f.write(npz(keep))
            say("case", path, "sha256|another model|case.json")
        else:
            say("case", path, r"case\.json")
    path = copy("case-model-changed")
    with open(os.path.join(path, "model.onnx"), "ab") as f:
        f.write(b"\x12\x01x")  # producer_name, a harmless field
    say("case", path, "model|sha256")
    path = copy("case-golden-cut")
    g = os.path.join(path, "golden", os.path.basename(GOLDEN))
    with open(g, "r+b") as f:
        f.truncate(os.path.getsize(g) // 2)
    say("case", path, os.path.basename(GOLDEN))


models()
inputs()
cases()
