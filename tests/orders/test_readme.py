import os
from pathlib import Path

from tests.docs.blocks import blocks
from tests.docs.running import Reader, free_port
from tests.orders.serving import ROOT

PAGE = ROOT / "examples" / "orders" / "README.md"
PRINTED_PORT = "8081"


class OrdersReader(Reader):
    """A reader in the top folder, as far as Python sees it, with a port of its own for the service."""

    def __init__(self, folder: Path) -> None:
        super().__init__(PAGE, folder)
        self.orders_port = str(free_port())

    def _environment(self) -> dict[str, str]:
        inherited = super()._environment()
        path = os.pathsep.join(filter(None, [str(ROOT), inherited.get("PYTHONPATH")]))
        return {**inherited, "PYTHONPATH": path, "ORDERS_HTTP_PORT": self.orders_port}

    def _real(self, text: str) -> str:
        return super()._real(text.replace(PRINTED_PORT, self.orders_port))


def test_the_page_of_the_example_does_what_it_prints(tmp_path: Path) -> None:
    """S0-62, 75."""
    with OrdersReader(tmp_path) as reader:
        for block in blocks(PAGE):
            reader.follow(block)
