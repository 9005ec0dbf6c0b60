# issue 3: the TensorShape class
S = tf.TensorShape
result["str"] = [str(S(None)), str(S([])), str(S([None, 3])), str(S([2, 3]))]
result["ndims"] = [S(None).ndims, S([]).ndims, S([1, None]).ndims]
result["list"] = [S([2, None]).as_list(), S([]).as_list()]
result["unknown_list"] = error_of(lambda: S(None).as_list())
result["defined"] = [
    S([2, 3]).is_fully_defined(),
    S([None]).is_fully_defined(),
    S(None).is_fully_defined(),
]
result["elements"] = [S([2, 3]).num_elements(), S([None, 3]).num_elements(), S([]).num_elements()]
result["merge"] = S([None, 3]).merge_with([2, None]).as_list()
result["merge_bad"] = error_of(lambda: S([2, 3]).merge_with([2, 4]))
result["concatenate"] = str(S([2]).concatenate([None, 4]))
result["compatible"] = [
    S([None, 3]).is_compatible_with([2, 3]),
    S([2, 3]).is_compatible_with([3, 3]),
    S(None).is_compatible_with([1]),
]
result["slice"] = [str(S([1, 2, 3])[1:]), S([1, 2, 3])[-1].value, S([None, 2])[0].value]
result["equal"] = [S([2, 3]) == S([2, 3]), S([2, 3]) == [2, 3], S([2]) == S([3])]
result["rank"] = [S([2, 3]).with_rank(2).as_list(), error_of(lambda: S([2, 3]).with_rank(3))]
result["at_least"] = error_of(lambda: S([2]).with_rank_at_least(2))
result["iterate"] = [d.value for d in S([4, None])]
result["len"] = [len(S([4, None])), bool(S(None)), bool(S([]))]
result["has_rank"] = error_of(lambda: S([1, 2]).assert_has_rank(1))
x = tf.placeholder(tf.float32, [None, 20])
result["value"] = [x.get_shape()[1].value, int(x.shape[1]), x.shape.dims[0].value]
result["dimension"] = str(tf.Dimension(3) + 4)
result["from_dimension"] = tf.zeros([x.get_shape()[1], 2]).get_shape().as_list()
