"""Hidden tests of the task conformal-risk."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

rates = pytest.mark.interface("crc.control.false_negative_rates")
monotone = pytest.mark.interface("crc.control.monotone_losses")
choosing = pytest.mark.interface("crc.control.choose_lambda")

# Sums of at most a few dozen numbers of size 1: rounding is about 1e-15, and 1e-9 is far from every other result.
RTOL = 1e-9


def documents(rng, count=9, labels=7):
    """Scores and true labels; every document has a true label but the third."""
    scores = rng.uniform(0.0, 1.0, (count, labels))
    truth = rng.uniform(size=(count, labels)) < 0.4
    truth[np.arange(count), rng.integers(0, labels, count)] = True
    truth[2] = False
    return scores, truth


def table(rng, count=8, size=12, lowest=0.0, highest=1.0):
    """Losses that rise and fall along the grid, and the grid."""
    losses = rng.uniform(lowest, highest, (count, size)) * np.linspace(1.0, 0.1, size)
    return losses, np.cumsum(rng.uniform(0.1, 1.0, size)) - 2.0


def envelope(losses):
    return np.array([[max(row[place:]) for place in range(len(row))] for row in losses.tolist()])


def fields(choice):
    return choice.position, choice.value, choice.risk, choice.satisfied


# false_negative_rates


@rates
def test_rates_are_the_share_of_true_labels_that_are_missed(candidate, rng):
    scores, truth = documents(rng)
    lambdas = rng.permutation(np.concatenate([rng.uniform(0.0, 1.0, 8), [0.25, 0.25]]))
    expected = np.zeros((9, 10))
    for i, j in np.ndindex(9, 10):
        true = np.flatnonzero(truth[i])
        missed = sum(scores[i, k] < 1.0 - lambdas[j] for k in true)
        expected[i, j] = missed / len(true) if len(true) else 0.0
    found = assert_unmodified(candidate.crc.control.false_negative_rates, scores, truth, lambdas)
    assert_equivalent(found, expected, rtol=RTOL, check_dtype=True)


@rates
def test_a_score_at_the_edge_is_in_the_set(candidate, rng):
    lambdas = rng.uniform(0.1, 0.9, 5)
    edges = 1.0 - lambdas
    scores = np.stack([edges, np.nextafter(edges, 0.0), np.nextafter(edges, 1.0)], axis=1)
    found = candidate.crc.control.false_negative_rates(scores, np.ones((5, 3), dtype=bool), lambdas)
    np.testing.assert_allclose(np.diag(found), np.full(5, 1.0 / 3.0), rtol=RTOL)


@rates
def test_other_types_of_scores_labels_and_lambdas(candidate, rng):
    """Scores and lambdas of lower precision are compared in double precision; lists and whole numbers do as well."""
    run = candidate.crc.control.false_negative_rates
    single = rng.uniform(0.1, 0.9, 40).astype(np.float32)
    above = np.ones((40, 1), dtype=np.int64)
    lambdas = 1.0 - (single.astype(np.float64) + 1e-9)  # just missed, but not in single precision
    found = run(single[:, None], above, lambdas)
    assert_equivalent(np.diag(found).copy(), np.ones(40), check_dtype=True)
    found = run(single[:, None], above, lambdas + 2e-9)
    assert_equivalent(np.diag(found).copy(), np.zeros(40), check_dtype=True)
    for kind in (np.float32, np.float16):
        levels = rng.uniform(0.1, 0.9, 40).astype(kind)
        edges = 1.0 - levels.astype(np.float64)
        found = run(np.stack([edges, np.nextafter(edges, 0.0)], axis=1), np.ones((40, 2), dtype=bool), levels)
        assert_equivalent(np.diag(found).copy(), np.full(40, 0.5), check_dtype=True)
    found = run([[1, 0, 0], [0, 1, 0]], [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [0, 1])
    assert_equivalent(found, np.array([[0.5, 0.0], [0.0, 0.0]]), check_dtype=True)


@rates
def test_tables_without_rows_or_columns_and_wrong_shapes(candidate, rng):
    run = candidate.crc.control.false_negative_rates
    scores, truth = documents(rng)
    assert_equivalent(run(scores, truth, np.zeros(0)), np.zeros((9, 0)), check_dtype=True)
    assert_equivalent(run(np.zeros((0, 4)), np.zeros((0, 4), dtype=bool), [0.5]), np.zeros((0, 1)), check_dtype=True)
    for bad in (
        (scores, truth[:, :-1], [0.5]),
        (scores, truth[:1], [0.5]),
        (scores[0], truth[0], [0.5]),
        (scores[None], truth[None], [0.5]),
        (scores, truth, 0.5),
        (scores, truth, [[0.5, 0.6]]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)


# monotone_losses


@monotone
def test_losses_become_the_largest_at_this_lambda_or_beyond(candidate, rng):
    for shape in ((6, 9), (11,), (2, 3, 5), (0, 4), (3, 1)):
        losses = rng.normal(size=shape)
        found = assert_unmodified(candidate.crc.control.monotone_losses, losses)
        expected = envelope(losses.reshape(-1, shape[-1])).reshape(shape)
        assert_equivalent(found, expected, rtol=0.0, atol=0.0, check_dtype=True)


@monotone
def test_whole_losses_become_floats(candidate, rng):
    losses = rng.integers(-5, 6, (4, 7))
    for given in (losses, losses.tolist(), losses.astype(np.float32)):
        found = candidate.crc.control.monotone_losses(given)
        assert_equivalent(found, envelope(losses).astype(np.float64), rtol=0.0, atol=0.0, check_dtype=True)


# choose_lambda


@choosing
def test_the_choice_is_the_smallest_that_meets_the_condition(candidate, rng):
    """Losses that rise and fall, so that the losses themselves and their mean have other answers."""
    losses, lambdas = table(rng)
    risks = (envelope(losses).sum(axis=0) + 1.0) / 9.0
    for position in (0, 5, 8, 11):
        alpha = risks[position] + 1e-6
        found = assert_unmodified(candidate.crc.control.choose_lambda, losses, lambdas, alpha)
        first = int(np.flatnonzero(risks <= alpha)[0])
        expected = (first, lambdas[first].item(), risks[first].item(), True)
        assert_equivalent(fields(found), expected, rtol=RTOL)
        assert [type(each) for each in fields(found)] == [int, float, float, bool]


@choosing
def test_each_loss_is_made_monotone_and_not_the_mean(candidate, rng):
    """Examples that rise in different places: neither the mean nor any column shows it."""
    count = rng.integers(4, 8).item()
    losses = np.concatenate([np.eye(count), np.zeros((count, 1))], axis=1)
    expected = [(count - place + 1) / (count + 1) for place in range(count)] + [1 / (count + 1)]
    for place in range(count + 1):
        alpha = expected[place] + 1e-3
        found = candidate.crc.control.choose_lambda(losses, np.arange(count + 1), alpha)
        assert_equivalent(fields(found), (place, float(place), expected[place], True), rtol=RTOL)


@choosing
def test_losses_of_zero_and_one_give_the_conformal_quantile(candidate, rng):
    count = 19
    scores = rng.permutation(np.cumsum(rng.uniform(0.1, 1.0, count)))
    grid = np.sort(scores)
    losses = (scores[:, None] > grid).astype(np.int8)
    for k in (1, 2, 7, 19):
        alpha = (k + rng.uniform(0.2, 0.8)) / (count + 1)
        found = candidate.crc.control.choose_lambda(losses, grid, alpha)
        assert_equivalent(fields(found), (count - k, grid[count - k].item(), k / (count + 1), True), rtol=RTOL)


@choosing
def test_a_risk_that_cannot_be_controlled(candidate, rng):
    """The correction alone is too large, the losses are, or there is no calibration example."""
    run = candidate.crc.control.choose_lambda
    losses, lambdas = table(rng, count=6, size=5)
    last = lambdas[-1].item()
    found = run(np.zeros((6, 5)), lambdas, 1.0 / 7.0 - 1e-6)
    assert_equivalent(fields(found), (4, last, 1.0 / 7.0, False), rtol=RTOL)
    assert type(found.satisfied) is bool
    found = run(np.zeros((6, 5)), lambdas, 1.0 / 7.0 + 1e-6)
    assert_equivalent(fields(found), (0, lambdas[0].item(), 1.0 / 7.0, True), rtol=RTOL)
    risk = (losses[:, -1].sum() + 1.0).item() / 7.0
    assert_equivalent(fields(run(losses, lambdas, risk - 1e-6)), (4, last, risk, False), rtol=RTOL)
    assert_equivalent(fields(run(losses, lambdas, -0.5)), (4, last, risk, False), rtol=RTOL)
    assert_equivalent(fields(run(np.zeros((0, 5)), lambdas, 0.9)), (4, last, 1.0, False), rtol=RTOL)
    assert_equivalent(fields(run(np.zeros((0, 1)), [0.5], 0.3, bound=0.2)), (0, 0.5, 0.2, True), rtol=RTOL)


@choosing
def test_equality_up_to_rounding_meets_the_condition(candidate, rng):
    """alpha is a few units of the last place below the risk, or clearly more than SLACK below it."""
    run = candidate.crc.control.choose_lambda
    count = rng.integers(9, 15).item()
    losses = (np.arange(count)[:, None] >= np.arange(count + 1)).astype(np.float64)  # totals count, ..., 1, 0
    for place in (1, count // 2, count):
        risk = (count - place + 1) / (count + 1)
        lambdas = np.arange(count + 1.0)
        assert run(losses, lambdas, risk * (1.0 - 4e-15)).position == place
        found = run(losses, lambdas, risk - 1e-10)
        assert found.position == min(place + 1, count)
        assert type(found.satisfied) is bool
        assert found.satisfied == (place < count)


@choosing
def test_the_bound_is_that_of_the_caller_and_losses_may_be_negative(candidate, rng):
    losses, lambdas = table(rng, lowest=-3.0, highest=2.5)
    losses -= 1.0  # the last column is negative
    losses[rng.integers(0, 8), rng.integers(0, 12)] = 3.0  # equal to the bound
    risks = (envelope(losses).sum(axis=0) + 3.0) / 9.0
    for alpha in (risks[6].item() + 1e-6, risks[-1].item() + 1e-6, risks[-1].item() - 1e-6):
        met = np.flatnonzero(risks <= alpha)
        first = int(met[0]) if len(met) else 11
        found = candidate.crc.control.choose_lambda(losses, lambdas, alpha, bound=3.0)
        assert_equivalent(fields(found), (first, lambdas[first].item(), risks[first].item(), len(met) > 0), rtol=RTOL)


@choosing
def test_weights_count_examples_and_the_new_one(candidate, rng):
    """Whole weights repeat examples; a common factor changes nothing; the new example's weight goes with the bound."""
    run = candidate.crc.control.choose_lambda
    losses, lambdas = table(rng)
    weights = rng.permutation([0, 1, 2, 3, 0, 5, 4, 2])
    repeated = np.repeat(losses, weights, axis=0)
    risks = (envelope(repeated).sum(axis=0) + 1.0) / 18.0
    alpha = risks[7] + 1e-6
    first = int(np.flatnonzero(risks <= alpha)[0])
    expected = (first, lambdas[first].item(), risks[first].item(), True)
    assert_equivalent(fields(run(repeated, lambdas, alpha)), expected, rtol=RTOL)
    found = assert_unmodified(run, losses, lambdas, alpha, weights=weights)
    assert_equivalent(fields(found), expected, rtol=RTOL)
    for factor in (rng.uniform(0.05, 0.5), 10.0 ** rng.uniform(-60.0, -20.0), 10.0 ** rng.uniform(20.0, 60.0)):
        found = run(losses, lambdas, alpha, weights=(factor * weights).tolist(), test_weight=factor)
        assert_equivalent(fields(found), expected, rtol=RTOL)
    for test_weight in (0.0, rng.uniform(2.0, 9.0)):
        share = (envelope(losses[:, -1:]).sum().item() + 1.0 * test_weight) / (8.0 + test_weight)
        found = run(losses, lambdas, share + 1e-6, test_weight=test_weight)
        assert_equivalent(fields(found), (11, lambdas[-1].item(), share, True), rtol=RTOL)
    found = run(losses, lambdas, 0.99, weights=np.zeros(8), test_weight=0.5)
    assert_equivalent(fields(found), (11, lambdas[-1].item(), 1.0, False), rtol=RTOL)


@choosing
def test_other_types_of_losses_lambdas_and_weights(candidate, rng):
    """Single precision is added and compared in double precision; whole numbers do not wrap; lists do as well."""
    run = candidate.crc.control.choose_lambda
    losses, _ = table(rng, size=3)
    single = losses.astype(np.float32)
    first = envelope(single.astype(np.float64))[:, 0]
    weights = 10.0 ** rng.uniform(-4.0, 2.0, 8)
    for given, shares in (
        ((single, np.array([1, 4, 9], dtype=np.uint8)), weights.astype(np.float32)),
        ((single.tolist(), [1, 4, 9]), weights.tolist()),
    ):
        found = run(*given, 1.0, weights=shares)
        # Eight terms of one sign: a rounding error or two.
        risk = (first @ np.array(shares, dtype=np.float64) + 1.0) / (np.array(shares, dtype=np.float64).sum() + 1.0)
        assert_equivalent(fields(found), (0, 1.0, risk.item(), True), rtol=1e-12)
        assert [type(each) for each in fields(found)] == [int, float, float, bool]
    top = single.max().item()
    assert run(single, [1, 4, 9], 1.0, bound=top).position == 0
    with pytest.raises(ValueError):  # noqa: PT011
        run(single, [1, 4, 9], 1.0, bound=top - 1e-10)  # equal in single precision
    with pytest.raises(ValueError):  # noqa: PT011
        run(single, np.array([9, 4, 1], dtype=np.uint8), 1.0)


@choosing
def test_what_does_not_fit_is_refused(candidate, rng):
    run = candidate.crc.control.choose_lambda
    losses, lambdas = table(rng, count=4, size=5)
    assert run(losses, lambdas, 2.0).position == 0
    high, unknown = losses.copy(), losses.copy()
    high[3, 4], unknown[0, 0] = np.nextafter(1.0, 2.0), np.nan
    equal = lambdas.copy()
    equal[2] = equal[1]
    for bad, options in (
        ((losses[:, :0], lambdas[:0]), {}),
        ((losses, equal), {}),
        ((losses, lambdas[::-1]), {}),
        ((losses, lambdas[:-1]), {}),
        ((losses[:, :1], lambdas), {}),
        ((losses[0], lambdas), {}),
        ((losses[:, :, None], lambdas), {}),
        ((high, lambdas), {}),
        ((unknown, lambdas), {}),
        ((losses, lambdas), {"bound": 0.01}),
        ((losses, lambdas), {"weights": np.ones(3)}),
        ((losses, lambdas), {"weights": np.ones((4, 1))}),
        ((losses, lambdas), {"weights": [1.0]}),
        ((losses, lambdas), {"weights": 1.0}),
        ((losses, lambdas), {"weights": [1.0, 1.0, -0.1, 1.0]}),
        ((losses, lambdas), {"test_weight": -0.1}),
        ((losses, lambdas), {"weights": np.zeros(4), "test_weight": 0.0}),
        ((np.zeros((0, 5)), lambdas), {"test_weight": 0.0}),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad, 2.0, **options)


@choosing
def test_the_driver_tags_as_that_of_the_authors(candidate, reference, rng):
    scores, truth = documents(rng, count=40)
    new = rng.uniform(0.0, 1.0, (5, 7))
    found = [side.crc.tagger.tag(scores, truth, new, 0.2) for side in (candidate, reference)]
    assert 0.0 < found[1]["lambda"] < 1.0
    assert_equivalent(found[0], found[1], rtol=RTOL)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
