# SPDX-License-Identifier: MIT
"""A site of many pages, and what reads them through a cache; for the entry varnish as well."""
import http.client
import http.server
import os
import random
import sys
import threading
import time
import zlib

# how long a page is fresh, and what precedes its path in a request
AGE, SITE = sys.argv[1:]


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        page = b"x" * (zlib.crc32(self.path.encode()) % 20000 + 200)
        self.send_response(200)
        self.send_header("Cache-Control", f"public, max-age={AGE}")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 18081), Origin)
threading.Thread(target=server.serve_forever, daemon=True).start()
random.seed(1)
served = failed = 0
connection = None
while True:
    try:
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", 18080, timeout=10)
        for _ in range(5):
            page = int(random.paretovariate(0.3)) % 1000000
            connection.request("GET", f"{SITE}/page/{page}")
            answer = connection.getresponse()
            answer.read()
            served += answer.status == 200
            failed += answer.status != 200
    except OSError:
        failed += served > 0
        connection = None
        time.sleep(0.1)
    with open("served.new", "w") as file:
        file.write(f"{served} {failed}\n")
    os.rename("served.new", "served")
    time.sleep(0.06)
