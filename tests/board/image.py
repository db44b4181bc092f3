# SPDX-License-Identifier: Apache-2.0
"""An initramfs: a tree of files in memory, written as a cpio archive."""

import os
import stat

# Units that cost an emulated board seconds, and that ours has nothing to do
# with.
MASKED = ("systemd-sysusers.service", "systemd-random-seed.service",
          "systemd-update-utmp.service", "systemd-modules-load.service",
          "systemd-tmpfiles-setup-dev.service", "modprobe@.service",
          "dev-hugepages.mount", "sys-kernel-tracing.mount",
          "systemd-initctl.socket", "proc-sys-fs-binfmt_misc.automount")
MODULES = ("virtio_pci", "virtio_net")
HERE = os.path.dirname(os.path.abspath(__file__))


class Tree:
    def __init__(self):
        self.nodes = {}

    def folder(self, path, mode=0o755):
        path = path.strip("/")
        if path and path not in self.nodes:
            self.folder(os.path.dirname(path))
            self.nodes[path] = (stat.S_IFDIR | mode, b"", (0, 0))

    def add(self, path, mode, data, device=(0, 0)):
        path = path.strip("/")
        self.folder(os.path.dirname(path))
        self.nodes[path] = (mode, data, device)

    def file(self, path, data, mode=0o644):
        if isinstance(data, str):
            data = data.encode()
        self.add(path, stat.S_IFREG | mode, data)

    def copy(self, path, source, mode=0o644):
        with open(source, "rb") as f:
            self.file(path, f.read(), mode)

    def link(self, path, to):
        self.add(path, stat.S_IFLNK | 0o777, to.encode())

    def merge(self, source, skip=()):
        """All of a folder of the host, with its modes; /lib and its kind are
        links into /usr, as in an installed system."""
        for at, folders, names in os.walk(source):
            for name in names + [f for f in folders
                                 if os.path.islink(os.path.join(at, f))]:
                path = os.path.join(at, name)
                to = os.path.relpath(path, source)
                if to.split("/")[0] in ("bin", "sbin", "lib"):
                    to = "usr/" + to
                if any(to.startswith(s) for s in skip):
                    continue
                if os.path.islink(path):
                    self.link(to, os.readlink(path))
                else:
                    self.copy(to, path, os.stat(path).st_mode & 0o7777)

    def write(self, path):
        with open(path, "wb") as out:
            for ino, (name, node) in enumerate(sorted(self.nodes.items()), 1):
                out.write(entry(ino, name, *node))
            out.write(entry(0, "TRAILER!!!", 0, b"", (0, 0)))


def entry(ino, name, mode, data, device):
    """One file of a cpio archive of the form "newc"."""
    name = name.encode() + b"\0"
    head = b"070701" + b"".join(b"%08X" % v for v in (
        ino, mode, 0, 0, 1, 0, len(data), 0, 0) + device + (len(name), 0))
    head += name
    return (head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))


def base(packages, assayd, usr=False):
    """What both kinds of board have: busybox, modules, the agent, its
    scripts, users, and what makes the network."""
    tree = Tree()
    for path in ("dev", "proc", "sys", "tmp", "run", "root", "etc", "var"):
        tree.folder(path)
    tree.add("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))
    if usr:
        for name in ("bin", "sbin", "lib"):
            tree.link(name, "usr/" + name)
    bin_at = "usr/bin" if usr else "bin"
    tree.copy(bin_at + "/busybox",
              os.path.join(packages.busybox, "bin/busybox"), 0o755)
    tree.link(bin_at + "/sh", "busybox")
    names = []
    for path in packages.modules(MODULES):
        names.append(os.path.basename(path))
        tree.copy("opt/modules/" + names[-1], path)
    tree.file("opt/modules/order", "\n".join(names) + "\n")
    tree.copy("usr/local/bin/assayd", assayd, 0o755)
    tree.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
              "assay:x:900:900::/:/bin/sh\n")
    tree.file("etc/group", "root:x:0:\nassay:x:900:\n")
    tree.file("etc/hostname", "box\n")
    for name in ("network", "control", "agent"):
        tree.copy("opt/" + name, os.path.join(HERE, "guest", name), 0o755)
    return tree


def busybox(packages, assayd, script, config="", respawn=False, keys=()):
    """A board with busybox's init, and the start script or a respawn line.
    keys: (name, path here) of what goes to /etc/assayd."""
    tree = base(packages, assayd)
    for name, path in keys:
        tree.copy("etc/assayd/" + name, path, 0o600)
    tree.copy("etc/rc", os.path.join(HERE, "guest", "rc"), 0o755)
    tree.copy("etc/init.d/assayd", script, 0o755)
    tree.file("etc/default/assayd", 'ASSAYD_LOG="/dev/console"\n' + config)
    tab = ["::sysinit:/etc/rc"]
    if respawn:
        tab.append("::respawn:/etc/init.d/assayd run")
    else:
        tab.append("::wait:/etc/init.d/assayd start")
        tab.append("::shutdown:/etc/init.d/assayd stop")
    tab.append("::wait:/bin/busybox echo board: up")
    tree.file("etc/inittab", "\n".join(tab) + "\n")
    tree.link("init", "bin/busybox")
    return tree


def systemd(packages, assayd, unit, config="", keys=()):
    """A board with systemd and the unit; nothing but the journal beside it."""
    tree = base(packages, assayd, usr=True)
    for name, path in keys:
        # Who may come in is no secret, and is read again by SIGHUP.
        tree.copy("etc/assayd/" + name, path,
                  0o644 if name == "authorized" else 0o600)
    tree.merge(packages.systemd(), skip=(
        "usr/share", "usr/lib/aarch64-linux-gnu/gconv"))
    for name in MASKED:
        tree.link("etc/systemd/system/" + name, "/dev/null")
    tree.copy("init", os.path.join(HERE, "guest", "init-systemd"), 0o755)
    tree.copy("etc/systemd/system/assayd.service", unit)
    tree.copy("etc/systemd/system/board.target",
              os.path.join(HERE, "guest", "board.target"))
    tree.copy("etc/systemd/system/board-up.service",
              os.path.join(HERE, "guest", "board-up.service"))
    tree.copy("opt/probe", os.path.join(HERE, "guest", "probe"), 0o755)
    tree.file("root/secret", "nobody's business\n")
    tree.file("etc/default/assayd", config)
    tree.file("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
    tree.file("etc/os-release", "ID=box\nVERSION_ID=1\n")
    return tree
