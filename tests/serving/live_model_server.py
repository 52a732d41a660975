"""A model server that listens, in a thread."""

import http.client
import json
import socket
import threading

import numpy as np

from separatrix.serving.model_server import make_server
from separatrix.serving.prometheus import COUNT, Metrics
from separatrix.serving.serving_options import ModelSource, ServingOptions
from separatrix.web.listen import listen_on


class LiveModelServer:
    """Starts and stops with `with`; `options` are those of `ServingOptions`."""

    def __init__(self, *sources, **options):
        self.listener = listen_on("127.0.0.1", 0)
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        options = {"access_log": False, "drain": 0.0, "port": self.port, **options}
        models = tuple(ModelSource(*source) for source in sources)
        started = threading.Event()
        self.metrics = Metrics(np.zeros((1, COUNT)))
        self.server = make_server(
            ServingOptions(models, **options), self.metrics, lambda _: started.set()
        )
        run = {"target": self.server.run, "kwargs": {"sockets": [self.listener]}}
        self.thread = threading.Thread(**run, daemon=True)
        self.started = started

    def __enter__(self):
        self.thread.start()
        assert self.started.wait(30)
        return self

    def __exit__(self, *_error):
        self.stop()

    def stop(self):
        self.server.handle_exit(15, None)
        self.thread.join(30)
        assert not self.thread.is_alive()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def request(self, method, path, value=None, headers=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = None if value is None else json.dumps(value).encode()
        link.request(method, path, body, headers or {})
        answer = link.getresponse()
        found = answer.status, answer.read()
        link.close()
        return found
