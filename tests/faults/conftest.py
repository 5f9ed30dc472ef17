"""The product behind fault proxies, once a session; each test finds it empty and running."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.faults.product import Product

settings.register_profile(
    "long",
    max_examples=2000,
    stateful_step_count=80,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="session")
def faulty_product(server_dir) -> Iterator[Product]:
    """One installation for all tests of this room; its processes are started by `product`."""
    with Product(server_dir / "faults") as running:
        yield running


@pytest.fixture
def product(faulty_product: Product) -> Iterator[Product]:
    """The product: empty, honest, all processes up."""
    faulty_product.forget()
    faulty_product.renew()
    yield faulty_product
    for proxy in faulty_product.proxies:
        proxy.clear()
