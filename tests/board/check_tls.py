# SPDX-License-Identifier: Apache-2.0
"""A board that is reached over its network, so by TLS: with a clock that has
never been set, a line that is taken away, and a cable that is pulled."""

import os

ARGS = ('ASSAYD_ARGS="--log-level info --listen 0.0.0.0:7410 '
        '--tls-cert %(at)s/cert.pem --tls-key %(at)s/key.pem '
        '--authorized /etc/assayd/authorized"\n')
READ_AGAIN = "reload done"


def check(b):
    keys = b.board_keys()
    with b.busybox(ARGS % {"at": "/etc/assayd"}, keys=keys,
                   clock="1970-01-01T00:00:00") as vm:
        vm.boot()
        target = b.trust(vm)
        b.expect(0, "a run over the network", "run", b.digits, "-q",
                 "--target", target)
        stranger = os.path.join(b.work, "stranger")
        b.key("eve", stranger)
        _, err = b.expect(3, "a stranger", "info", "--target", target,
                          "--tls-cert", stranger + "/cert.pem",
                          "--tls-key", stranger + "/key.pem")
        b.test("not authorised" in err, "a stranger is told: %s" % err)
        # Nothing but the agent's own connection is between the two here.
        run = b.start("run", b.case("chain"), "-v", "--target", target,
                      "--timeout", "3")
        run.wait_line(r"layer 5/")
        vm.monitor("set_link net off")
        status, said, _ = run.end(30)
        b.test(status == 3 and "lost" in said.splitlines()[-1],
               "a pulled cable: exit %s: %s" % (status, said[-300:]))
        vm.monitor("set_link net on")
        b.expect(0, "behind a pulled cable", "run", b.digits, "-q",
                 "--target", target, "--force")
        mark = vm.mark()
        vm.out(": >/etc/assayd/authorized; /etc/init.d/assayd reload")
        vm.wait(READ_AGAIN, 20, mark)
        b.expect(3, "a line that was taken away", "info", "--target", target)
