# SPDX-License-Identifier: Apache-2.0
"""Makes input samples of random numbers; Python's own library.

many_inputs.py OUT.npz NAME SHAPE N LO HI SEED
                  e.g. input 1,1,8,8 50 0 1 7: float32, in steps of 1/16
"""

import random
import sys

import sim_files


def main():
    path, name, shape, n, lo, hi, seed = sys.argv[1:]
    shape = (int(n),) + tuple(int(d) for d in shape.split(","))
    count = 1
    for d in shape:
        count *= d
    dice = random.Random(int(seed))
    steps = int((float(hi) - float(lo)) * 16)
    numbers = [float(lo) + dice.randint(0, steps) / 16 for _ in range(count)]
    sim_files.write(path, {name: sim_files.npy("<f4", shape, numbers)})


main()
