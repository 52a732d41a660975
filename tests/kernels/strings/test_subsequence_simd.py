from separatrix.kernels.strings.subsequence_simd import aligned_zeros


def test_lanes_are_aligned_to_cache_lines():
    for size in (1, 3, 1000):
        assert aligned_zeros(size, 8).ctypes.data % 64 == 0
