# SPDX-License-Identifier: Apache-2.0
"""Time and memory of reading large MLIR texts.

    big.py ASSAY [--megabytes N] [--seconds S] [--work FOLDER] [--table]

Makes a text of N megabytes with its constants as hexadecimal, as lists of
decimal numbers and in the resource section, lets `assay import` read each, and
measures the peak of resident memory (the kernel's VmHWM, pages of the mapped
text among them) against the bytes of the constants. More than 2.5 times as much
is a failure; more than S seconds too, where S is given. With --table,
lines for docs/performance.md."""
import argparse
import os
import random
import signal
import sys
import time

LIMIT = 2.5
HEAD = """module attributes {hbdk.target = "B30G"} {
  func.func @main(%arg0: tensor<1x8x8x4xsi8> {hbir.name = "img"}) -> \
(tensor<1x8x8x4xsi8> {hbir.name = "out"}) {
"""
TAIL = """    %out = "b30.unary_eltwise"(%arg0) <{mode = "relu"}> : \
(tensor<1x8x8x4xsi8>) -> tensor<1x8x8x4xsi8> loc("relu")
    return %out : tensor<1x8x8x4xsi8>
  }
}
"""
CHUNK = 1 << 16


def constant(f, k, value, elements):
    f.write(f'    %c{k} = "hbir.constant"() <{{values = ')
    value()
    f.write(f" : tensor<{elements}xsi8>}}> : () -> tensor<{elements}xsi8> "
            f'loc("c{k}")\n')


def write_hex(f, size, parts):
    n = size // 2 // parts
    piece = random.Random(1).randbytes(CHUNK).hex().upper()

    def value():
        f.write('dense<"0x')
        left = n
        while left:
            step = min(left, CHUNK)
            f.write(piece[:2 * step])
            left -= step
        f.write('">')

    for k in range(parts):
        constant(f, k, value, n)
    return n * parts


def write_decimal(f, size, parts):
    rng = random.Random(2)
    numbers = [str(rng.randrange(-128, 128)) for _ in range(CHUNK)]
    piece = ", ".join(numbers)
    repeats = max(1, size // parts // (len(piece) + 2))

    def value():
        f.write("dense<[")
        for k in range(repeats):
            f.write(", " * (k > 0) + piece)
        f.write("]>")

    for k in range(parts):
        constant(f, k, value, CHUNK * repeats)
    return CHUNK * repeats * parts


def write_resource(f, size, parts):
    n = size // 2 // parts
    for k in range(parts):
        constant(f, k, lambda k=k: f.write(f"dense_resource<r{k}>"), n)
    return n * parts


def write_section(f, total, parts):
    piece = random.Random(3).randbytes(CHUNK).hex().upper()
    f.write("{-#\n  dialect_resources: {\n    builtin: {\n")
    for k in range(parts):
        f.write(f'      r{k}: "0x40000000')
        left = total // parts
        while left:
            step = min(left, CHUNK)
            f.write(piece[:2 * step])
            left -= step
        f.write('"' + (",\n" if k + 1 < parts else "\n"))
    f.write("    }\n  }\n#-}\n")


KINDS = {"hexadecimal": write_hex, "decimal lists": write_decimal,
         "resource section": write_resource}


def make(path, kind, size, parts):
    with open(path, "w", encoding="ascii") as f:
        f.write(HEAD)
        total = KINDS[kind](f, size, parts)
        f.write(TAIL)
        if kind == "resource section":
            write_section(f, total, parts)
    return total


def measure(args, log, timeout):
    """(exit, seconds, peak bytes) of a program; it is ended when late."""
    start = time.monotonic()
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    pid = os.posix_spawnp(args[0], args, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)])
    os.close(out)
    peak, status = 0, None
    while status is None:
        time.sleep(.001)
        if time.monotonic() - start > timeout:
            os.kill(pid, signal.SIGKILL)
        peak = max(peak, high_water(pid))
        done, code = os.waitpid(pid, os.WNOHANG)
        status = code if done else None
    return (os.waitstatus_to_exitcode(status), time.monotonic() - start, peak)


def high_water(pid):
    """Its peak so far; 0 where it has ended or is not itself yet."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii",
                  errors="replace") as f:
            for line in f:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--megabytes", type=int, default=100)
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--work", default=".")
    p.add_argument("--parts", type=int, default=4)
    p.add_argument("--command", default="import",
                   help="words between the program and the file")
    p.add_argument("--table", action="store_true")
    o = p.parse_args()
    failed = 0
    log = os.path.join(o.work, "big-run.log")
    command = [o.program, *o.command.split()]
    for kind in KINDS:
        path = os.path.join(o.work, f"big-{kind.split()[0]}.mlir")
        constants = make(path, kind, o.megabytes * 1000000, o.parts)
        text = os.path.getsize(path)
        rc, seconds, peak = measure([*command, path], log, 120)
        ratio = peak / constants
        os.unlink(path)
        bad = rc != 0 or ratio > LIMIT or (o.seconds and seconds > o.seconds)
        failed += bad
        if o.table:
            print(f"| {kind} | {text / 1e6:.0f} MB | {constants / 1e6:.1f} MB "
                  f"| {seconds:.2f} s | {peak / 1e6:.1f} MB | {ratio:.2f} |")
        print(f"{'FAIL' if bad else 'ok  '} mlir {o.megabytes} MB, {kind}: "
              f"exit {rc}, {seconds:.2f} s, peak {peak / 1e6:.1f} MB for "
              f"{constants / 1e6:.1f} MB of constants, {ratio:.2f} times "
              f"(limit {LIMIT})")
        if rc:
            with open(log, encoding="utf-8", errors="replace") as f:
                print("    " + f.read()[-400:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
