#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small JPEGs beside it from a formula. Needs Pillow:
$(tests/oracle/venv.sh) tests/data/pictures/make_pictures.py"""
import os

from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
picture = Image.new("RGB", (16, 12))
picture.putdata([(x * 17 % 256, y * 21 % 256, x * y * 5 % 256)
                 for y in range(12) for x in range(16)])
exif = Image.Exif()
exif[0x0112] = 6
for name, options in (("small", {}), ("progressive", {"progressive": True}),
                      ("turned", {"exif": exif})):
    picture.save(os.path.join(HERE, name + ".jpg"), quality=20, optimize=True,
                 **options)
