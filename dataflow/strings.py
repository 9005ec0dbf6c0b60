"""`tf.strings`: ops on strings."""

from __future__ import annotations

from dataflow.ops.string import (
    as_string,
    bytes_split,
    reduce_join,
    regex_full_match,
    regex_replace,
    split,
    string_format as format,
    string_join as join,
    string_length as length,
    string_lower as lower,
    string_strip as strip,
    string_to_hash_bucket as to_hash_bucket,
    string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong,
    string_to_number as to_number,
    string_upper as upper,
    substr,
    unicode_transcode,
    unsorted_segment_join,
)
from dataflow.ops.unicode import ngrams, unicode_decode

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
