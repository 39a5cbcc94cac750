import numpy as np
import pytest

from canonical import radical_inverse as canonical_inverse
from canonical import rotated_halton as canonical_points
from primes import PRIMES
from sampler import radical_inverse, rotated_halton


def test_radical_inverse_equivalence():
    assert [radical_inverse(index, 3) for index in range(20)] == [canonical_inverse(index, 3) for index in range(20)]


def test_points_equivalence():
    shift = [0.25, 0.5, 0.125]
    np.testing.assert_allclose(rotated_halton(50, PRIMES[:3], shift), canonical_points(50, PRIMES[:3], shift))


def test_points_equivalence_cuda():
    pytest.importorskip("a_library_for_devices_that_nobody_has")
