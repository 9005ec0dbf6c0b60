"""``slim.dataset``: where a data set's files are, and how their records are read."""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset"]


class Dataset:
    """Files (``data_sources``), a reader class, a decoder, a size, and a text for each item.

    Further arguments (``num_classes``, ``labels_to_names``) become attributes.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int,
        items_to_descriptions: dict[str, str],
        **kwargs: Any,
    ) -> None:
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        self.__dict__.update(kwargs)
