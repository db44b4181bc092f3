# SPDX-License-Identifier: Apache-2.0
"""Debian's packages of the board in a box, unpacked below one folder: a kernel
for arm64, a static busybox, and systemd with the libraries that it loads.
Nothing of them is installed, and no maintainer's script runs."""

import os
import re
import shutil
import subprocess

# The meta package, which names the kernel of the day. Its small variant for
# virtual machines has the console built in, and modules for virtio.
KERNEL = "linux-image-cloud-arm64:arm64"
BUSYBOX = ("busybox-static",)
# What systemd and its shared library need (readelf -d), and no more.
SYSTEMD = ("systemd", "libsystemd-shared", "libc6", "libgcc-s1", "libacl1",
           "libapparmor1", "libaudit1", "libblkid1", "libcap2", "libcap-ng0",
           "libcrypt1", "libssl3", "libgcrypt20", "libgpg-error0", "libip4tc2",
           "libkmod2", "liblz4-1", "liblzma5", "libmount1", "libpam0g",
           "libseccomp2", "libselinux1", "libpcre2-8-0", "libzstd1")


class Missing(Exception):
    """What cannot be had, as a reason to skip."""


def run(command, cwd=None, seconds=300):
    try:
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds, check=False, text=True)
    except FileNotFoundError:
        raise Missing("'%s' is not installed" % command[0]) from None
    except subprocess.TimeoutExpired:
        raise Missing("'%s' took longer than %d s"
                      % (" ".join(command[:2]), seconds)) from None
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines() or ["no output"]
        raise Missing("'%s' failed: %s"
                      % (" ".join(command[:2]), lines[-1].strip()))
    return done.stdout


def kernel_package():
    said = run(["apt-cache", "depends", KERNEL])
    found = re.search(r"Depends: (linux-image-\S+)", said)
    if found is None:
        raise Missing("no package list of this system has '%s'" % KERNEL)
    return found.group(1).removesuffix(":arm64")


def fetch(folder, names):
    """Unpacks the packages into a folder, which is kept for the next time. A
    half-made one is never seen: it gets its name at its end."""
    if os.path.isdir(folder):
        return folder
    debs, root = folder + ".debs", folder + ".part"
    for d in (debs, root):
        shutil.rmtree(d, ignore_errors=True)
        os.makedirs(d)
    run(["apt-get", "-q", "-o", "Acquire::Retries=3", "-o",
         "Acquire::http::Timeout=30", "download"] +
        [n + ":arm64" for n in names], cwd=debs)
    for deb in sorted(os.listdir(debs)):
        run(["dpkg", "-x", os.path.join(debs, deb), root])
    shutil.rmtree(debs)
    os.rename(root, folder)
    return folder


class Packages:
    """Folders of what was unpacked; systemd's is fetched when asked for."""

    def __init__(self, cache):
        if shutil.which("qemu-system-aarch64") is None:
            raise Missing("qemu-system-aarch64 is not installed (Debian: "
                          "qemu-system-arm)")
        os.makedirs(cache, exist_ok=True)
        self.cache = cache
        self.kernel = os.path.join(cache, "kernel")
        if not os.path.isdir(self.kernel):
            fetch(self.kernel, (kernel_package(),))
        self.busybox = fetch(os.path.join(cache, "busybox"), BUSYBOX)

    def systemd(self):
        return fetch(os.path.join(self.cache, "systemd"), SYSTEMD)

    def image(self):
        boot = os.path.join(self.kernel, "boot")
        for name in sorted(os.listdir(boot)):
            if name.startswith("vmlinuz-"):
                return os.path.join(boot, name)
        raise Missing("the kernel package has no vmlinuz")

    def modules(self, wanted):
        """Paths of modules and of those they need, in the order of insmod."""
        found, order = {}, []
        for at, _, names in os.walk(os.path.join(self.kernel, "lib")):
            for name in names:
                if name.endswith(".ko"):
                    found[name[:-3].replace("-", "_")] = os.path.join(at, name)

        def add(name):
            if name not in found:
                return  # built in
            with open(found[name], "rb") as f:
                data = f.read()
            needs = re.search(rb"\0depends=([^\0]*)\0", data)
            for n in (needs.group(1).decode() if needs else "").split(","):
                add(n.replace("-", "_"))
            if found[name] not in order:
                order.append(found[name])
        for name in wanted:
            add(name)
        return order
