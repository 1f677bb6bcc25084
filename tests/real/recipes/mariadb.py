# SPDX-License-Identifier: MIT
"""MariaDB, with a data folder and a socket of its own."""
import os
import subprocess

from service import Service, run


class MariaDB(Service):
    needs = ["/usr/sbin/mariadbd", "mariadb", "mariadb-install-db"]

    def options(self):
        # as root it asks for a user by name
        return ["--no-defaults", f"--datadir={self.folder}/data", *(["--user=root"] if os.geteuid() == 0 else [])]

    def begin(self):
        run("mariadb-install-db", *self.options(), "--auth-root-authentication-method=normal")
        process = self.start("/usr/sbin/mariadbd", *self.options(), f"--socket={self.folder}/socket", "--skip-networking",
                             f"--pid-file={self.folder}/pid", f"--log-error={self.folder}/log")
        self.wait_ready(lambda: self.sql("select 1", check=False).strip() == "1", "MariaDB answers")
        return process

    def client(self, *args):
        return ["mariadb", "--no-defaults", f"--socket={self.folder}/socket", "-u", "root", "-N", "-B", *args]

    def sql(self, text, check=True):
        return run(*self.client("-e", text), check=check)

    def session(self):
        """A connection that stays."""
        return subprocess.Popen(self.client("-n"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, bufsize=1)

    def work(self, turn):
        assert self.sql(f"select {turn} + 1").strip() == str(turn + 1)
