"""A webhook receiver: prints each event once, and refuses what is not signed.

PURSER_WEBHOOK_SECRET=whsec_... python webhook_receiver.py 3000
"""

import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from purser_pay import Event, webhooks

SECRET = os.environ["PURSER_WEBHOOK_SECRET"]
work: "queue.Queue[Event]" = queue.Queue()  # a table, if an event must not be lost once you have said that you have it


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            work.put(webhooks.verify(body, self.headers, SECRET))
            status = 204
        except webhooks.NotVerified:
            status = 401
        self.send_response(status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def process() -> None:
    seen: set[str] = set()  # a unique column of that table
    while True:
        event = work.get()
        if event.id not in seen:
            seen.add(event.id)
            print(event.type, event.data, flush=True)


threading.Thread(target=process, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
