"""Each test of this folder is in eager code, with a Keras of its own."""

import pytest

from dataflow.keras import backend as K
from dataflow.python.eager import context


@pytest.fixture(autouse=True)
def _eager():
    with context.eager_mode():
        K.clear_session()
        yield
        K.clear_session()
