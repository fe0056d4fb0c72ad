"""Servers on this machine that take what alerts send: SMTP as far as ``smtplib`` asks, and HTTP."""

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Mail(socketserver.StreamRequestHandler):
    """One session of RFC 5321, without extensions."""

    def handle(self):
        self._say("220 test")
        while line := self.rfile.readline():
            command = line.decode().strip().upper()
            if command == "DATA":
                self._say("354 go on")
                self.server.received.append(self._message())
                self._say("250 kept")
            elif command == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok" if not self.server.refuses else "550 no")

    def _message(self):
        lines = []
        while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
            lines.append(line)
        return "\n".join(lines)

    def _say(self, line):
        self.wfile.write(f"{line}\r\n".encode())


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(json.loads(body))
        self.send_response(500 if self.server.refuses else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def running(server, *, refuses=False):
    """Serve in a thread; ``received`` holds what came."""
    server.daemon_threads, server.received, server.refuses = True, [], refuses
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def mail_server(**how):
    return running(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail), **how)


def hook_server(**how):
    return running(ThreadingHTTPServer(("127.0.0.1", 0), _Hook), **how)


def port_of(server):
    return server.server_address[1]
