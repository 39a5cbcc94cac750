import os
import unittest
from unittest.mock import patch

import numpy as np

from driftlab.streams import shifted

from .canonical import QuantileDrift as CanonicalDrift
from .canonical import track_quantile as canonical_track
from .detector import QuantileDrift, pinball_loss, track_quantile


class TestTracking(unittest.TestCase):
    def setUp(self):
        self.values = shifted(400, 200, 2.0, seed=5)

    def test_track_quantile_equivalence(self):
        for level in (0.1, 0.5, 0.9):
            np.testing.assert_allclose(
                track_quantile(self.values, level, 0.05, 0.3), canonical_track(self.values, level, 0.05, 0.3)
            )

    def test_level_out_of_range(self):
        with self.assertRaises(ValueError):
            track_quantile(self.values, 1.0, 0.05)

    def test_pinball_loss_is_least_at_the_quantile(self):
        places = np.linspace(-2, 4, 61)
        losses = [pinball_loss(self.values - place, 0.5).mean() for place in places]
        self.assertAlmostEqual(places[int(np.argmin(losses))], np.median(self.values), delta=0.11)


class TestDrift(unittest.TestCase):
    def setUp(self):
        self.given = {"level": 0.8, "step": 0.05, "window": 30, "threshold": 2.0}
        self.detector = QuantileDrift(**self.given)
        self.canonical = CanonicalDrift(**self.given)

    def test_update_equivalence(self):
        for value in shifted(300, 150, 1.5, seed=9):
            self.assertEqual(self.detector.update(value), self.canonical.update(value))
            self.assertAlmostEqual(self.detector.exceedance(), self.canonical.exceedance())

    def test_reset(self):
        for value in np.linspace(-1, 1, 40):
            self.detector.update(value)
        self.detector.reset()
        self.assertEqual(self.detector.exceedance(), 0.0)
        self.assertFalse(self.detector.update(0.0))

    @patch("driftlab.canonical._check")
    def test_level_is_checked_once(self, check):
        CanonicalDrift(**self.given)
        check.assert_called_once_with(0.8)
        assert os.path.basename(__file__) == "test.py"
        assert os.path.exists(os.path.join(os.path.dirname(__file__), "detector.py"))
        self.assertAlmostEqual(self.detector.exceedance(), 0.0)
