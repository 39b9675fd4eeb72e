"""The demo's server, whose answers need more CPU than its limit allows, and its clients: demo.py serve | ask URL."""

import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CPU_S = 0.01
CLIENTS = 4


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        until = time.thread_time() + CPU_S
        while time.thread_time() < until:
            pass
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *told):
        pass


def ask(url):
    while True:
        try:
            urllib.request.urlopen(url, timeout=10).read()
        except OSError:
            time.sleep(1)


if sys.argv[1] == "serve":
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()
for _ in range(CLIENTS - 1):
    threading.Thread(target=ask, args=(sys.argv[2],), daemon=True).start()
ask(sys.argv[2])
