#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The oracle's Python for aarch64, which runs under the emulator: the kernels
# that an ARM board would run. Debian's Python 3.11 and the aarch64 wheels of
# requirements.txt, unpacked into a folder (about 300 MB); nothing is installed
# into this system. Done once; a stamp tells. Prints the path of a command that
# runs it. Exit 77 with a reason when it cannot be made here.
#
#   ASSAY_AARCH64   the folder, $BUILD/aarch64-python
#   CPU             what is emulated, cortex-a76; the cpuinfo below says dotprod
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-build}
mkdir -p "${ASSAY_AARCH64:=$BUILD/aarch64-python}"
folder=$(cd "$ASSAY_AARCH64" && pwd)
root=$folder/root
site=$folder/site
stamp=$folder/.assay-requirements
# Python 3.11 is that of Debian 12; wheels for other versions do not fit it.
version=3.11
packages="libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 python$version-minimal
    libpython$version-minimal libpython$version-stdlib libssl3 libffi8
    libbz2-1.0 liblzma5 libuuid1 libsqlite3-0"

give_up() {
    echo "$*" >&2
    exit 77
}
exec 9>"$folder.lock"
flock 9
wanted=$(cat "$here/requirements.txt" "$0" | sha256sum)
if [ "$wanted" = "$(cat "$stamp" 2>/dev/null)" ]; then
    echo "$folder/python"
    exit 0
fi
for tool in apt-get dpkg qemu-aarch64 python3; do
    command -v $tool >/dev/null 2>&1 || give_up "$tool is not installed"
done
rm -rf "$root" "$site" "$folder/debs" "$folder/wheels"
mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial" \
    "$folder/debs" "$folder/wheels" "$site" "$root/proc" \
    "$root/sys/devices/system/cpu"

# A state of its own: this system's apt knows nothing of it.
: >"$folder/state/status"
apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o APT::Sandbox::User=root -o Dir::State="$folder/state" \
        -o Dir::State::status="$folder/state/status" \
        -o Dir::Cache="$folder/cache" "$@" >&2
}
if ! apt update; then
    give_up "apt-get cannot read the packages of arm64"
fi
# shellcheck disable=SC2086 # words
(cd "$folder/debs" && apt download $packages) ||
    give_up "apt-get has no Python $version for arm64"
for deb in "$folder"/debs/*.deb; do
    dpkg -x "$deb" "$root"
done
timeout 600 python3 -m pip download --quiet --disable-pip-version-check \
    -d "$folder/wheels" --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
    --only-binary=:all: --python-version $version --implementation cp \
    -c "$here/requirements.txt" numpy onnx onnxruntime >&2 ||
    give_up "the aarch64 wheels of requirements.txt cannot be fetched"
for wheel in "$folder"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$site"
done

# The wheels read the CPU's features; the emulator would show this machine's.
{
    printf 'processor\t: 0\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd evtstrm '
    printf 'aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm '
    printf 'lrcpc dcpop asimddp\nCPU implementer\t: 0x41\nCPU architecture: 8\n'
    printf 'CPU variant\t: 0x3\nCPU part\t: 0xd0b\nCPU revision\t: 1\n\n'
} >"$root/proc/cpuinfo"
for f in possible present online; do
    echo 0 >"$root/sys/devices/system/cpu/$f"
done
cat >"$folder/python" <<END
#!/bin/sh
PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 PYTHONHOME='$root/usr' \\
    PYTHONPATH='$site' exec qemu-aarch64 -cpu "\${CPU:-cortex-a76}" \\
    -L '$root' '$root/usr/bin/python$version' "\$@"
END
chmod +x "$folder/python"
"$folder/python" -c 'import onnxruntime, onnx, platform
assert platform.machine() == "aarch64"' >&2 ||
    give_up "the aarch64 Python does not run under qemu-aarch64 here"
rm -rf "$folder/debs" "$folder/wheels"
echo "$wanted" >"$stamp"
echo "$folder/python"
