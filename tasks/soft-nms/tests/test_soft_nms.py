"""Hidden tests of the task soft-nms."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

decay = pytest.mark.interface("detector.suppression.decay_weights")
loop = pytest.mark.interface("detector.suppression.soft_nms")
image = pytest.mark.interface("detector.suppression.suppress_per_class")


def crowd(rng, count=40, size=100.0):
    """Boxes that overlap a lot, with distinct scores."""
    centre = rng.uniform(0.3 * size, 0.7 * size, (count, 2))
    extent = rng.uniform(0.1 * size, 0.4 * size, (count, 2))
    boxes = np.concatenate([centre - extent / 2, centre + extent / 2], axis=1)
    return boxes, rng.permutation(np.linspace(0.05, 0.99, count))


def row(rng, count):
    """Boxes side by side, none of which touches another."""
    left = 10.0 * np.arange(count) + rng.uniform(0.0, 1.0, count)
    return np.stack([left, np.zeros(count), left + rng.uniform(2.0, 8.0, count), np.ones(count)], axis=1)


# decay_weights


@decay
@pytest.mark.parametrize("method", ["linear", "gaussian", "hard"])
def test_decay_is_that_of_the_authors(candidate, reference, rng, method):
    overlaps = rng.uniform(0.0, 1.0, (5, 7))
    options = {"sigma": rng.uniform(0.1, 2.0), "iou_threshold": rng.uniform(0.2, 0.8)}
    actual = candidate.detector.suppression.decay_weights(overlaps, method, **options)
    assert_equivalent(actual, reference.detector.suppression.decay_weights(overlaps, method, **options), rtol=1e-6)


@decay
def test_an_overlap_at_the_threshold_reaches_it(candidate, rng):
    threshold = rng.uniform(0.1, 0.9)
    overlaps = np.array([np.nextafter(threshold, 0.0), threshold, 0.0, 1.0])
    linear = candidate.detector.suppression.decay_weights(overlaps, "linear", iou_threshold=threshold)
    hard = candidate.detector.suppression.decay_weights(overlaps, "hard", sigma=-1.0, iou_threshold=threshold)
    np.testing.assert_allclose(linear, [1.0, 1.0 - threshold, 1.0, 0.0], rtol=1e-6)
    np.testing.assert_allclose(hard, [1.0, 0.0, 1.0, 0.0])


@decay
def test_bad_options_are_refused_and_defaults_hold(candidate, rng):
    overlaps = rng.uniform(0.05, 0.95, 6)
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.detector.suppression.decay_weights(overlaps, "quadratic")
    for sigma in (0.0, -0.5):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.detector.suppression.decay_weights(overlaps, "gaussian", sigma=sigma)
    narrow = candidate.detector.suppression.decay_weights(1e-5 * overlaps, "gaussian", sigma=1e-10)
    np.testing.assert_allclose(narrow, np.exp(-(overlaps**2)), rtol=1e-6)
    gaussian = candidate.detector.suppression.decay_weights(overlaps, "gaussian", iou_threshold=2.0)
    np.testing.assert_allclose(gaussian, np.exp(-2.0 * overlaps**2), rtol=1e-6)
    single = candidate.detector.suppression.decay_weights(overlaps.astype(np.float32), "gaussian")
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, gaussian, rtol=1e-6)
    for method, weight in (("linear", 0.5), ("hard", 0.0)):
        for given, expected in (
            (np.array([[0.25, 0.5]], dtype=np.float32), np.array([[1.0, weight]])),
            (np.array([0, 1]), np.array([1.0, 0.0])),
            (np.zeros((0, 3), dtype=np.float32), np.zeros((0, 3))),
        ):
            found = candidate.detector.suppression.decay_weights(given, method)
            assert_equivalent(found, expected, rtol=1e-6, check_dtype=True)
    for method in ("linear", "gaussian", "hard"):
        assert np.shape(candidate.detector.suppression.decay_weights(np.array(0.5), method)) == ()
    linear = candidate.detector.suppression.decay_weights(np.array([[0.29, 0.31]]), "linear")
    np.testing.assert_allclose(linear, [[1.0, 0.69]], rtol=1e-6)


# soft_nms


@loop
@pytest.mark.parametrize("method", ["linear", "gaussian", "hard"])
def test_loop_selects_and_scores_as_the_authors(candidate, reference, rng, method):
    boxes, scores = crowd(rng)
    options = {
        "method": method,
        "sigma": rng.uniform(0.2, 0.9),
        "iou_threshold": rng.uniform(0.25, 0.5),
        "score_threshold": 0.05,
    }
    before = boxes.copy(), scores.copy()
    actual = candidate.detector.suppression.soft_nms(boxes, scores, **options)
    assert_equivalent(actual, reference.detector.suppression.soft_nms(*before, **options), rtol=1e-6)


@loop
def test_boxes_apart_keep_their_scores_and_are_ranked(candidate, rng):
    boxes = row(rng, 9)
    scores = rng.permutation(np.linspace(0.1, 0.9, 9))
    indices, kept = candidate.detector.suppression.soft_nms(boxes, scores)
    assert indices.dtype == np.int64
    assert kept.dtype == np.float64
    np.testing.assert_array_equal(indices, np.argsort(-scores))
    np.testing.assert_allclose(kept, np.sort(scores)[::-1], rtol=1e-12)


@loop
def test_a_decayed_box_falls_behind_a_weaker_one(candidate, rng):
    """The order of selection follows current scores; two neighbours lower a box twice."""
    shift = rng.uniform(-50.0, 50.0)
    boxes = np.array([[0, 0, 4, 1], [0, 0, 2, 1], [2, 0, 4, 1], [30, 0, 31, 1]]) + shift
    scores = np.array([0.6, 0.9, 0.8, 0.5])
    indices, kept = candidate.detector.suppression.soft_nms(
        boxes, scores, method="linear", iou_threshold=0.45, score_threshold=0.0
    )
    np.testing.assert_array_equal(indices, [1, 2, 3, 0])
    np.testing.assert_allclose(kept, [0.9, 0.8, 0.5, 0.6 * 0.5 * 0.5], rtol=1e-6)


@loop
def test_equal_scores_are_taken_by_index(candidate, rng):
    boxes = row(rng, 12)
    scores = rng.choice([0.25, 0.5, 0.75], 12)
    indices, _ = candidate.detector.suppression.soft_nms(boxes[::-1].copy(), scores)
    np.testing.assert_array_equal(indices, np.argsort(-scores, kind="stable"))
    scores = 0.5 + 1e-9 * rng.permutation(12)  # close, but not equal
    indices, _ = candidate.detector.suppression.soft_nms(boxes, scores)
    np.testing.assert_array_equal(indices, np.argsort(-scores))


@loop
def test_the_score_threshold_holds_before_and_after_decay(candidate, rng):
    """Below: dropped, and suppresses nothing. Equal: kept. Zero: dropped whatever the threshold."""
    boxes = row(rng, 5)
    boxes[4] = boxes[3]
    scores = np.array([0.5, 0.25, np.nextafter(0.25, 0.0), 0.9, 0.8])
    run = candidate.detector.suppression.soft_nms
    indices, kept = run(boxes, scores, method="linear", score_threshold=0.25)
    np.testing.assert_array_equal(indices, [3, 0, 1])
    np.testing.assert_allclose(kept, [0.9, 0.5, 0.25])
    for method in ("linear", "hard"):
        indices, kept = run(boxes, scores, method=method, score_threshold=0.0)
        np.testing.assert_array_equal(indices, [3, 0, 1, 2])
    indices, _ = run(boxes[:3], np.array([1e-9, 0.0, 1e-12]), score_threshold=0.0)
    np.testing.assert_array_equal(indices, [0, 2])
    indices, _ = run(boxes, np.array([-0.5, 0.0, 0.3, 0.2, 0.1]), method="gaussian", score_threshold=-1.0)
    np.testing.assert_array_equal(indices, [2, 3, 4])
    indices, _ = run(boxes[:3], np.array([-0.5, 0.0, -0.1]), score_threshold=-1.0)
    assert indices.shape == (0,)
    indices, _ = run(boxes[:3], np.array([0.00101, 0.00099, 0.00102]))
    np.testing.assert_array_equal(indices, [2, 0])
    decayed = 0.8 * np.exp(-2.0)
    indices, _ = run(boxes, scores, score_threshold=decayed * 1.01)
    np.testing.assert_array_equal(indices, [3, 0, 1, 2])
    indices, _ = run(boxes, scores, score_threshold=decayed * 0.99)
    np.testing.assert_array_equal(indices, [3, 0, 1, 2, 4])


@loop
def test_limits_empty_input_and_wrong_shapes(candidate, rng):
    run = candidate.detector.suppression.soft_nms
    boxes, scores = crowd(rng, count=12)
    whole, _ = run(boxes, scores)
    for limit in (0, 1, 5):
        indices, kept = run(boxes, scores, max_detections=limit)
        np.testing.assert_array_equal(indices, whole[:limit])
        assert kept.shape == (limit,)
    indices, kept = run(np.zeros((0, 4)), np.zeros(0))
    assert indices.shape == (0,)
    assert indices.dtype == np.int64
    assert kept.shape == (0,)
    assert kept.dtype == np.float64
    wide = np.concatenate([boxes, boxes[:, :1]], axis=1)
    for bad in (
        (boxes[:-1], scores),
        (boxes[:, :3], scores),
        (boxes, scores[:, None]),
        (wide, scores),
        (boxes.ravel(), scores),
        (boxes[:, None], scores),
        (np.zeros(0), np.zeros(0)),
        (np.zeros((0, 5)), np.zeros(0)),
    ):
        for options in ({}, {"max_detections": 0}):
            with pytest.raises(ValueError):  # noqa: PT011
                run(*bad, **options)
    with pytest.raises(ValueError):  # noqa: PT011
        run(np.zeros((0, 4)), np.zeros(0), method="median")
    with pytest.raises(ValueError):  # noqa: PT011
        run(np.zeros((0, 4)), np.zeros(0), method="gaussian", sigma=0.0)


@loop
def test_degenerate_boxes_and_integers(candidate, rng):
    """Boxes without area overlap with nothing; whole numbers, in lists or arrays, are worked on as floats."""
    x, y = rng.integers(-20, 20, 2).tolist()
    line, point = [x, y, x + 4, y], [x, y, x, y]
    boxes = [line, point, line, [x, y, x + 4, y + 4], [x, y, x + 2, y + 4]]
    scores = [5, 4, 3, 2, 1]
    for given in ((boxes, scores), (np.array(boxes), np.array(scores))):
        indices, kept = candidate.detector.suppression.soft_nms(*given, method="linear")
        np.testing.assert_array_equal(indices, [0, 1, 2, 3, 4])
        np.testing.assert_allclose(kept, [5.0, 4.0, 3.0, 2.0, 0.5], rtol=1e-6)


@loop
def test_other_types_of_numbers_are_worked_on_in_float64(candidate, rng):
    """Two boxes that overlap by a third: just under the threshold, and over it once rounded to single precision."""
    run = candidate.detector.suppression.soft_nms
    boxes, scores = np.array([[0, 0, 2, 1], [1, 0, 3, 1]], dtype=np.float32), np.array([0.75, 0.5], dtype=np.float32)
    for threshold, last in ((1.0 / 3.0 + 1e-9, 0.5), (1.0 / 3.0 - 1e-9, 0.5 * 2.0 / 3.0)):
        indices, kept = run(boxes, scores, method="linear", iou_threshold=threshold)
        np.testing.assert_array_equal(indices, [0, 1])
        assert_equivalent(kept, np.array([0.75, last]), rtol=1e-12, check_dtype=True)
    x, y = rng.integers(100, 120, 2).tolist()
    small = np.array([[x, y, x + 9, y + 9], [0, 0, 9, 9], [x, y, x + 9, y + 18]], dtype=np.uint8)  # differences wrap
    indices, kept = run(small, np.array([3, 2, 1], dtype=np.uint8), method="linear")
    np.testing.assert_array_equal(indices, [0, 1, 2])
    assert_equivalent(kept, np.array([3.0, 2.0, 0.5]), rtol=1e-12, check_dtype=True)


# suppress_per_class


def fields(detections):
    return detections.boxes, detections.scores, detections.labels


@image
@pytest.mark.parametrize(("method", "limit"), [("linear", None), ("gaussian", 7)])
def test_image_is_that_of_the_authors(candidate, reference, rng, method, limit):
    boxes, scores = crowd(rng, count=45)
    labels = rng.choice([-3, 0, 8], 45)
    found = []
    for side in (candidate, reference):
        config = side.detector.detections.SoftNMSConfig(
            method=method, sigma=0.3, iou_threshold=0.4, score_threshold=0.02, max_detections=limit
        )
        given = side.detector.detections.Detections(boxes, scores, labels)
        found.append(fields(side.detector.suppression.suppress_per_class(given, config)))
        assert_equivalent(fields(given), (boxes, scores, labels), rtol=0.0, atol=0.0)  # an input is never modified
    assert_equivalent(found[0], found[1], rtol=1e-6)


@image
def test_classes_do_not_touch_one_another_and_ties_keep_their_order(candidate, rng):
    """The same far-away box in 30 classes: nothing decays, equal scores stay in the order of the input."""
    corner = rng.uniform(-1.0e6, -0.9e6, 2)
    boxes = np.tile(np.concatenate([corner, corner + 50.0]), (30, 1))
    labels = rng.permutation(np.arange(-15, 15))
    scores = rng.permutation(np.repeat([0.4, 0.5, 0.6], 10))
    order = np.argsort(-scores, kind="stable")
    given = candidate.detector.detections.Detections(boxes, scores, labels)
    for limit in (None, 13):
        config = candidate.detector.detections.SoftNMSConfig(method="hard", max_detections=limit)
        found = candidate.detector.suppression.suppress_per_class(given, config)
        np.testing.assert_array_equal(found.labels, labels[order[:limit]])
        np.testing.assert_allclose(found.scores, scores[order[:limit]])
    config = candidate.detector.detections.SoftNMSConfig(max_detections=0)
    assert candidate.detector.suppression.suppress_per_class(given, config).scores.shape == (0,)
    large = labels + 2**62  # as numbers of float64, or of 32 bits, many of them are equal
    given = candidate.detector.detections.Detections(boxes, scores, large)
    found = candidate.detector.suppression.suppress_per_class(given, candidate.detector.detections.SoftNMSConfig())
    np.testing.assert_array_equal(found.labels, large[order])
    scores = 0.5 + 1e-10 * rng.permutation(30)  # close, but not equal
    given = candidate.detector.detections.Detections(boxes, scores, labels)
    found = candidate.detector.suppression.suppress_per_class(given, candidate.detector.detections.SoftNMSConfig())
    np.testing.assert_array_equal(found.labels, labels[np.argsort(-scores)])


@image
def test_empty_image_and_bad_configuration(candidate, rng):
    parts = candidate.detector.detections
    run = candidate.detector.suppression.suppress_per_class
    found = run(parts.Detections(np.zeros((0, 4)), np.zeros(0), np.zeros(0)), parts.SoftNMSConfig())
    assert (found.boxes.shape, found.scores.shape, found.labels.shape) == ((0, 4), (0,), (0,))
    boxes, scores = crowd(rng, count=5)
    with pytest.raises(ValueError):  # noqa: PT011
        run(parts.Detections(boxes, scores, np.zeros(5)), parts.SoftNMSConfig(method="median"))
    weak = run(parts.Detections(boxes, 1e-4 * scores, np.zeros(5)), parts.SoftNMSConfig())
    assert weak.scores.shape == (0,)
    scores = rng.permutation([0.9, 0.6, 0.5, 0.3])
    found = run(parts.Detections(boxes[:4], scores, np.arange(4)), parts.SoftNMSConfig(score_threshold=0.5))
    np.testing.assert_allclose(found.scores, [0.9, 0.6, 0.5])


@image
def test_driver_offers_every_box_for_every_class(candidate, reference, rng):
    boxes, _ = crowd(rng, count=10)
    class_scores = rng.uniform(0.0, 1.0, (10, 3))
    found = [
        fields(side.detector.pipeline.postprocess(boxes, class_scores, (60, 55))) for side in (candidate, reference)
    ]
    assert_equivalent(found[0], found[1], rtol=1e-6)


# arguments


@decay
@pytest.mark.parametrize("method", ["linear", "gaussian", "hard"])
def test_overlaps_are_not_modified(candidate, reference, rng, method):
    overlaps = rng.uniform(0.0, 1.0, (3, 4))
    decayed = assert_unmodified(candidate.detector.suppression.decay_weights, overlaps, method, iou_threshold=0.5)
    authors = reference.detector.suppression.decay_weights(overlaps, method, iou_threshold=0.5)
    assert_equivalent(decayed, authors, rtol=1e-6)


@loop
@pytest.mark.parametrize("method", ["linear", "gaussian", "hard"])
def test_boxes_and_scores_are_not_modified(candidate, rng, method):
    boxes, scores = crowd(rng)
    indices, _ = assert_unmodified(candidate.detector.suppression.soft_nms, boxes, scores, method=method)
    assert len(indices) > 1


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
