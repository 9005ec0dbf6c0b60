from dataflow.ops.string import (
    as_string as as_string,
    string_format as format,
    string_join as join,
    string_length as length,
    string_lower as lower,
    reduce_join as reduce_join,
    regex_full_match as regex_full_match,
    regex_replace as regex_replace,
    string_strip as strip,
    substr as substr,
    string_to_number as to_number,
    unsorted_segment_join as unsorted_segment_join,
    string_upper as upper,
)
from dataflow.ops.unicode import unicode_transcode as unicode_transcode
from dataflow.ops.string_hash import (
    string_to_hash_bucket as to_hash_bucket,
    string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong,
)
from dataflow.ops.string_split import split as split
from dataflow.ops.unicode import (
    bytes_split as bytes_split,
    ngrams as ngrams,
    unicode_decode as unicode_decode,
    unicode_decode_with_offsets as unicode_decode_with_offsets,
    unicode_encode as unicode_encode,
    unicode_split as unicode_split,
    unicode_split_with_offsets as unicode_split_with_offsets,
)
