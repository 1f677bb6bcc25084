# SPDX-License-Identifier: MIT
"""Services that are a master with workers: nginx, Apache httpd, and PostgreSQL with a process for each connection."""
import glob
import os
import pathlib
import shutil
import socket
import subprocess

from harness import children, wait_for
from service import Service, run

NGINX = """
worker_processes {workers};
error_log {folder}/log;
pid {folder}/nginx.pid;
daemon off;
{user}
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    keepalive_requests 100000; set_real_ip_from unix:; real_ip_header X-Real-IP;
    server {{ listen unix:{folder}/socket; location / {{ return 200 "as ever\\n"; }} }}
}}
"""


class Nginx(Service):
    needs = ["nginx"]
    count = 4

    def begin(self):
        config = self.folder / "nginx.conf"
        config.write_text(NGINX.format(workers=self.count, folder=self.folder, user="user root;" if os.geteuid() == 0 else ""))
        process = self.start("nginx", "-p", self.folder, "-c", config)
        wait_for(lambda: len(children(process.pid)) == self.count and (self.folder / "socket").exists(),
                 "nginx has its workers", every=0.02)
        return process

    def workers(self):
        return sorted(children(self.pid))

    def reload(self):
        """New workers take over; the old ones end. Returns the new ones."""
        before = set(self.workers())
        os.kill(self.pid, 1)
        wait_for(lambda: len(self.workers()) == self.count and not before & set(self.workers()),
                 "nginx has reloaded", 60, every=0.02)
        return self.workers()

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        s.connect(str(self.folder / "socket"))
        return s

    def work(self, turn):
        with self.connect() as s:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b""
            while part := s.recv(65536):
                answer += part
        assert answer.endswith(b"as ever\n"), answer


HTTPD = """
ServerRoot {folder}
ServerName here
PidFile {folder}/pid
ErrorLog {folder}/log
Listen 127.0.0.1:{port}
User nobody
Group nogroup
DefaultRuntimeDir {folder}
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
DocumentRoot {folder}/pages
StartServers 1
MinSpareServers 1
MaxSpareServers 1
MaxRequestWorkers 1
ServerLimit 1
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Httpd(Service):
    """One worker, which serves one connection at a time."""

    modules = "/usr/lib/apache2/modules"
    needs = ["/usr/sbin/apache2", f"{modules}/mod_mpm_prefork.so"]

    def begin(self):
        pages, config = self.folder / "pages", self.folder / "httpd.conf"
        for folder in [self.folder, *self.folder.parents]:
            if folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & 1:
                folder.chmod(folder.stat().st_mode | 0o11)
        pages.mkdir()
        (pages / "index.html").write_text("as ever\n")
        self.port = free_port()
        config.write_text(HTTPD.format(folder=self.folder, port=self.port, modules=self.modules))
        # when it ends, it ends its process group: not ours
        process = self.start("/usr/sbin/apache2", "-f", config, "-DFOREGROUND", start_new_session=True)
        wait_for(lambda: len(children(process.pid)) == 1, "httpd has its worker")
        self.work(0)
        return process

    def connect(self):
        return wait_for(self.try_to_connect, "httpd answers")

    def try_to_connect(self):
        try:
            return socket.create_connection(("127.0.0.1", self.port), 30)
        except ConnectionRefusedError:
            return None

    def ask(self, connection, turns=1):
        for _ in range(turns):
            connection.sendall(b"GET /index.html HTTP/1.1\r\nHost: here\r\n\r\n")
            answer = b""
            while not answer.endswith(b"as ever\n"):
                part = connection.recv(65536)
                assert part, answer
                answer += part

    def work(self, turn):
        with self.connect() as connection:
            self.ask(connection)


def postgres_programs():
    """The folder with initdb and postgres, Debian's or another's."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin")) + [os.path.dirname(shutil.which("postgres") or "/none/postgres")]
    return next((pathlib.Path(f) for f in folders if (pathlib.Path(f) / "initdb").exists()), pathlib.Path("/none"))


class Postgres(Service):
    needs = [str(postgres_programs() / "initdb"), "psql"]

    def as_user(self):
        """PostgreSQL does not run as root."""
        return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}

    def begin(self):
        data = self.folder / "data"
        if os.geteuid() == 0:
            for folder in [self.folder, *self.folder.parents]:
                if folder.stat().st_uid == 0 and not folder.stat().st_mode & 1:
                    folder.chmod(folder.stat().st_mode | 0o11)
            shutil.chown(self.folder, "nobody", "nogroup")
        run(postgres_programs() / "initdb", "-D", data, "-U", "me", "-A", "trust", "-N", cwd=self.folder, **self.as_user())
        with open(self.folder / "log", "wb") as log:
            process = self.start(postgres_programs() / "postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses=",
                                 "-c", "shared_buffers=16MB", cwd=self.folder, stderr=log, **self.as_user())
        socket_file = self.folder / ".s.PGSQL.5432"
        self.wait_ready(lambda: socket_file.exists() and self.sql("select 1", check=False).strip() == "1",
                        "PostgreSQL answers", every=0.02)
        return process

    def psql(self, *args, **kwargs):
        # Debian's psql in PATH is a Perl script that looks for this one.
        own = postgres_programs() / "psql"
        program = str(own) if own.exists() else "psql"
        return [program, "-h", str(self.folder), "-U", "me", "-d", "postgres", "-X", "-q", "-t", "-A", *args]

    def sql(self, text, check=True):
        return run(*self.psql("-c", text), check=check)

    def session(self):
        """A connection that stays: its process is a child of the server."""
        return subprocess.Popen(self.psql(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, bufsize=1)

    def work(self, turn):
        assert self.sql(f"select {turn} + 1").strip() == str(turn + 1)
