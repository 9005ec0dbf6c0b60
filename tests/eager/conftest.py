"""Each test of this folder is in eager code, with a Keras of its own."""

import pytest

from dataflow.keras import backend as K
from dataflow.python.test_modes import new_eager_mode


@pytest.fixture(autouse=True)
def _eager():
    with new_eager_mode():
        K.clear_session()
        yield
        K.clear_session()
