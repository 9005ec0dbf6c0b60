"""A Jupyter Server extension: what a kernel sends reaches the page at once.

The server's WebSockets wait for the acknowledgment of one small message before they send the next
(Nagle's algorithm), and a browser acknowledges after 40 ms where it has nothing to say itself. A widget
that answers with two messages (the kernel's "busy", then its own) is 40 ms late each time.

`dataflow lab` and Binder load it. For any other server of an environment with this package:
``jupyter server extension enable --sys-prefix dataflow.cli.server_extension``.
"""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(app: Any) -> None:
    """Has the connections between pages and kernels send without delay."""
    settings = app.web_app.settings
    usual = settings["kernel_websocket_connection_class"]

    class PromptConnection(usual):  # type: ignore[misc, valid-type]
        def connect(self) -> Any:
            self.websocket_handler.set_nodelay(True)
            return super().connect()

    settings["kernel_websocket_connection_class"] = PromptConnection
