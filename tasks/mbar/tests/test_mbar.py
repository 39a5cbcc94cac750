"""Hidden tests of the task mbar."""

import statistics

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

weighing = pytest.mark.interface("mbar.solver.log_weights")
solving = pytest.mark.interface("mbar.solver.free_energies")
spreading = pytest.mark.interface("mbar.estimates.covariance")
comparing = pytest.mark.interface("mbar.estimates.differences")
averaging = pytest.mark.interface("mbar.estimates.expectation")

FAR_APART = (11, 37, 56)
"""Seeds of chains on which a choice between Newton's step and the plain one by the weights' sums alone never moves."""


def oscillators(rng, counts, spacing=1.0):
    """Positions `(N,)`, energies `(K, N)` and counts of a chain of harmonic oscillators."""
    stiffness = rng.uniform(0.6, 1.8, len(counts))
    centres = spacing * np.arange(len(counts)) + rng.uniform(-0.1, 0.1, len(counts))
    positions = np.concatenate([rng.normal(c, k**-0.5, n) for c, k, n in zip(centres, stiffness, counts, strict=True)])
    return positions, 0.5 * stiffness[:, None] * (positions - centres[:, None]) ** 2, np.array(counts)


def weights_of(energies, counts, f):
    """Equation (9), for energies that need no care."""
    boltzmann = np.exp(f[:, None] - energies)
    return (boltzmann / (counts @ boltzmann)).T


def pseudo_inverse_form(weights, counts):
    """Equation (8) as it stands: N x N."""
    matrix = np.eye(len(weights)) - (weights * counts) @ weights.T
    return np.linalg.pinv(matrix, rcond=1e-8, hermitian=True)


# log_weights


@weighing
def test_weights_follow_their_definition(candidate, rng):
    _, energies, counts = oscillators(rng, [12, 0, 7, 9])
    f = rng.normal(size=4)
    samples = candidate.mbar.samples.SampleSet(energies, counts)
    found = assert_unmodified(candidate.mbar.solver.log_weights, samples, f)
    assert_equivalent([samples.energies, samples.counts], [energies, counts], rtol=0.0, atol=0.0)
    assert found.shape == (28, 4)
    np.testing.assert_allclose(np.exp(found), weights_of(energies, counts, f), rtol=1e-6)
    np.testing.assert_allclose(np.exp(found) @ counts, np.ones(28), rtol=1e-9)
    f[1] += 3.0
    shifted = candidate.mbar.solver.log_weights(samples, f)
    np.testing.assert_allclose(shifted - found, np.tile([0.0, 3.0, 0.0, 0.0], (28, 1)), atol=1e-9)


@weighing
def test_weights_bear_huge_and_infinite_energies(candidate, reference, rng):
    """Constants per state and per sample, far outside the range of exp, change nothing that they should not."""
    _, energies, counts = oscillators(rng, [8, 6, 0])
    f, state, sample = rng.normal(size=3), rng.uniform(-1e6, 1e6, 3), rng.uniform(-1e6, 1e6, 14)
    expected = np.log(weights_of(energies, counts, f))
    huge = candidate.mbar.samples.SampleSet(energies + state[:, None] + sample, counts)
    found = candidate.mbar.solver.log_weights(huge, f + state)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    energies[1, 3] = energies[2, 8] = np.inf
    pair = [
        side.mbar.solver.log_weights(side.mbar.samples.SampleSet(energies, counts), f)
        for side in (candidate, reference)
    ]
    assert np.isneginf(pair[0][3, 1])
    assert np.isneginf(pair[0][8, 2])
    assert_equivalent(np.exp(pair[0]), np.exp(pair[1]), rtol=1e-6)


# free_energies


@solving
def test_solution_is_that_of_the_authors_and_self_consistent(candidate, reference, rng):
    _, energies, counts = oscillators(rng, [20, 35, 15, 30])
    before = energies.copy()
    samples = candidate.mbar.samples.SampleSet(energies, counts)
    found = candidate.mbar.solver.free_energies(samples)
    assert_equivalent([samples.energies, samples.counts], [before, counts], rtol=0.0, atol=0.0)
    expected = reference.mbar.solver.free_energies(reference.mbar.samples.SampleSet(before, counts))
    assert_equivalent(found, expected, rtol=1e-6, atol=1e-6)
    assert found[0] == 0.0
    np.testing.assert_allclose(weights_of(energies, counts, found).sum(axis=0), np.ones(4), atol=1e-6)


@solving
def test_two_states_are_bennetts_acceptance_ratio(candidate, rng):
    _, energies, counts = oscillators(rng, [25, 40], spacing=1.3)
    found = candidate.mbar.solver.free_energies(candidate.mbar.samples.SampleSet(energies, counts))
    work, ratio = energies[1] - energies[0], np.log(counts[0] / counts[1])
    low, high = -50.0, 50.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        # Samples of both states pooled: the share that state 1 claims must be its share of the draws.
        share = (1.0 / (1.0 + np.exp(ratio + work - middle))).sum()
        low, high = (middle, high) if share < counts[1] else (low, middle)
    np.testing.assert_allclose(found, [0.0, middle], atol=1e-6)


@solving
def test_known_free_energies_are_found(candidate, rng):
    """Samples at the quantiles of each state leave hardly any statistical error."""
    stiffness, centres, count = rng.uniform(0.5, 4.0, 4), rng.uniform(-0.7, 0.7, 4), 300
    normal = np.array([statistics.NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)])
    positions = np.concatenate([c + normal / np.sqrt(k) for c, k in zip(centres, stiffness, strict=True)])
    system = candidate.mbar.oscillators.Oscillators(stiffness, centres)
    samples = candidate.mbar.samples.SampleSet(system.energies(positions), [count] * 4)
    found = candidate.mbar.solver.free_energies(samples)
    np.testing.assert_allclose(found, 0.5 * np.log(stiffness / stiffness[0]), atol=5e-3)
    assert abs(found).max() > 0.0


@solving
def test_states_without_samples_follow_from_the_others(candidate, rng):
    """The first and a middle state were not simulated; one sampled state is Zwanzig's exponential average."""
    _, energies, counts = oscillators(rng, [0, 30, 0, 25], spacing=0.7)
    run, parts = candidate.mbar.solver.free_energies, candidate.mbar.samples
    found = run(parts.SampleSet(energies, counts))
    assert found[0] == 0.0
    sampled = run(parts.SampleSet(energies[[1, 3]], counts[[1, 3]]))
    np.testing.assert_allclose(found[3] - found[1], sampled[1], atol=1e-6)
    np.testing.assert_allclose(weights_of(energies, counts, found - found[1]).sum(axis=0), np.ones(4), atol=1e-6)
    single = run(parts.SampleSet(energies[:2, :30], [0, 30]))
    zwanzig = np.log(np.mean(np.exp(energies[1, :30] - energies[0, :30])))
    np.testing.assert_allclose(single, [0.0, zwanzig], atol=1e-6)


@solving
def test_a_chain_with_little_overlap_is_solved_to_the_end(candidate, reference, rng):
    """Plain iteration of the equations creeps here: its last step is thousands of times smaller than its error."""
    _, energies, counts = oscillators(rng, [125] * 8, spacing=3.8)
    found = candidate.mbar.solver.free_energies(candidate.mbar.samples.SampleSet(energies, counts))
    expected = reference.mbar.solver.free_energies(reference.mbar.samples.SampleSet(energies, counts))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    for few in (0, 1):
        with pytest.raises(RuntimeError):
            candidate.mbar.solver.free_energies(candidate.mbar.samples.SampleSet(energies, counts), max_iterations=few)


@solving
def test_constants_of_the_states_do_no_harm_where_they_barely_overlap(candidate, rng):
    """Many chains, each with and without large constants per state: at first sight no state then overlaps another."""
    run, parts = candidate.mbar.solver.free_energies, candidate.mbar.samples
    chains = [rng, *map(np.random.default_rng, FAR_APART)]
    for source in chains:
        positions = np.concatenate([source.normal(2.5 * k, 1.0, 30) for k in range(8)])
        energies = 0.5 * (positions - 2.5 * np.arange(8)[:, None]) ** 2
        constants = 100.0 * source.normal(size=8)
        plain = run(parts.SampleSet(energies, [30] * 8))
        moved = run(parts.SampleSet(energies + constants[:, None], [30] * 8))
        assert np.isfinite(moved).all()
        np.testing.assert_allclose(moved, plain + constants - constants[0], rtol=1e-6, atol=1e-6)


@solving
def test_every_sampled_state_is_within_the_tolerance(candidate, rng):
    """The state with few samples is the last one to be right: the others are a thousandth off when it is a half off."""
    _, energies, counts = oscillators(rng, [2, 300, 300], spacing=1.2)
    samples = candidate.mbar.samples.SampleSet(energies, counts)
    for tolerance in (0.3, 0.03, 1e-4):
        found = candidate.mbar.solver.free_energies(samples, tolerance)
        off = np.abs(weights_of(energies, counts, found).sum(axis=0) - 1.0).max()
        assert off <= tolerance * (1.0 + 1e-6)


@solving
def test_constants_and_forbidden_samples(candidate, rng):
    """A constant per state moves its free energy by that much; one per sample moves nothing; inf is a factor 0."""
    _, energies, counts = oscillators(rng, [15, 20, 0, 18])
    run, parts = candidate.mbar.solver.free_energies, candidate.mbar.samples
    plain = run(parts.SampleSet(energies, counts))
    state, sample = rng.uniform(-1e5, 1e5, 4), rng.uniform(-1e5, 1e5, 53)
    moved = run(parts.SampleSet(energies + state[:, None] + sample, counts))
    np.testing.assert_allclose(moved, plain + state - state[0], rtol=1e-6, atol=1e-6)
    energies[3, :4] = energies[2, 10:] = np.inf
    found = run(parts.SampleSet(energies, counts))
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(weights_of(energies, counts, found).sum(axis=0), np.ones(4), atol=1e-6)


# covariance


@spreading
def test_covariance_is_that_of_the_paper(candidate, reference, rng):
    _, energies, counts = oscillators(rng, [20, 0, 25, 15])
    f = reference.mbar.solver.free_energies(reference.mbar.samples.SampleSet(energies, counts))
    weights = weights_of(energies, counts, f)
    before = weights.copy()
    found = assert_unmodified(candidate.mbar.estimates.covariance, weights, counts)
    expected = weights.T @ pseudo_inverse_form(weights, counts) @ weights
    assert found.shape == (4, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    assert_equivalent(found, reference.mbar.estimates.covariance(before, counts), rtol=1e-5, atol=1e-8)


@spreading
def test_covariance_of_equal_states_and_of_signed_columns(candidate, reference, rng):
    _, energies, counts = oscillators(rng, [30, 20, 0])
    energies, counts = energies[[0, 1, 2, 0]], np.array([18, 20, 0, 12])
    f = reference.mbar.solver.free_energies(reference.mbar.samples.SampleSet(energies, counts))
    weights = weights_of(energies, counts, f)
    weights[:, 2] = rng.normal(size=50) / 50
    found = candidate.mbar.estimates.covariance(weights, counts)
    expected = weights.T @ pseudo_inverse_form(weights, counts) @ weights
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found[0], found[3], rtol=1e-5, atol=1e-8)


@spreading
def test_covariance_of_many_samples(candidate, reference, rng):
    """Every sample given 200 times over: each count 200 times as large, each variance as much smaller."""
    _, energies, counts = oscillators(rng, [40, 35, 25])
    f = reference.mbar.solver.free_energies(reference.mbar.samples.SampleSet(energies, counts))
    weights = weights_of(energies, counts, f)
    once = weights.T @ pseudo_inverse_form(weights, counts) @ weights
    found = candidate.mbar.estimates.covariance(np.tile(weights, (200, 1)) / 200, 200 * counts)
    np.testing.assert_allclose(found, once / 200, rtol=1e-5, atol=1e-9)


@spreading
def test_covariance_of_states_that_barely_overlap(candidate, reference, rng):
    """Every eigenvalue of the small matrix is a rounding error: it is small beside 1, though not beside the others."""
    _, energies, counts = oscillators(rng, [20, 30], spacing=14.0)
    apart = weights_of(energies, counts, np.zeros(2))
    _, energies, counts = oscillators(rng, [20, 30])  # of these the covariance is not zero
    f = reference.mbar.solver.free_energies(reference.mbar.samples.SampleSet(energies, counts))
    for weights in (apart, weights_of(energies, counts, f)):
        found = candidate.mbar.estimates.covariance(weights, counts)
        expected = weights.T @ pseudo_inverse_form(weights, counts) @ weights
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


@spreading
def test_which_eigenvalues_of_the_covariance_count_as_zero(candidate):
    """Those below 1e-8 of the largest of (8): with more samples than states of 1, else of what the small matrix has."""
    run = candidate.mbar.estimates.covariance
    for overlap, inverse in ((1.5e-8, 1.0 / 1.5e-8), (0.7e-8, 0.0)):
        # Two states of 20 samples each. (8) has the eigenvalues 0, `overlap` (for the difference of the two) and 1.
        mine, other = 0.5 * (1.0 + np.sqrt(1.0 - overlap)) / 20, 0.5 * (1.0 - np.sqrt(1.0 - overlap)) / 20
        weights = np.repeat([[mine, other], [other, mine]], 20, axis=0)
        half = 0.5 * (1.0 - overlap) / 20 * inverse
        np.testing.assert_allclose(
            run(weights, np.array([20, 20])), [[half, -half], [-half, half]], rtol=1e-5, atol=1e-9
        )
    for values, inverses in (
        ([0.5, 1e-9], [2.0, 0.0]),
        ([1e-9, 5e-10], [1e9, 2e9]),
    ):
        squares = 1.0 - np.array(values)
        found = run(np.diag(np.sqrt(squares)), np.array([1, 1]))
        np.testing.assert_allclose(found, np.diag(squares * inverses), rtol=1e-5, atol=1e-9)


@spreading
def test_covariance_is_of_double_precision_whatever_the_weights_are(candidate):
    """Weights of single precision, whose covariance is that of nearly equal numbers."""
    single = np.repeat([[0.04999, 0.00001], [0.00001, 0.04999]], 20, axis=0).astype(np.float32)
    exact, counts = single.astype(np.float64), np.array([20, 20])
    found = candidate.mbar.estimates.covariance(single, counts)
    expected = exact.T @ pseudo_inverse_form(exact, counts) @ exact
    assert_equivalent(found, expected, rtol=1e-5, atol=1e-8, check_dtype=True)


# differences


@comparing
def test_differences_are_those_of_the_authors(candidate, reference, rng):
    _, energies, counts = oscillators(rng, [20, 30, 0, 25])
    pair = [
        side.mbar.estimates.differences(side.mbar.samples.SampleSet(energies, counts))
        for side in (candidate, reference)
    ]
    assert_equivalent(pair[0], pair[1], rtol=1e-5, atol=1e-6)
    delta, error = pair[0]
    np.testing.assert_array_equal(np.diag(delta), np.zeros(4))
    np.testing.assert_array_equal(np.diag(error), np.zeros(4))
    np.testing.assert_allclose(delta[0, 1:] + delta[1:, 3] - delta[0, 3], delta[0, 1:] - delta[3, 1:] + delta[3, 0])


@comparing
def test_error_of_two_states_is_that_of_bennett(candidate, rng):
    """1 / sum_n 1 / (2 + 2 cosh(M + w_n - df)) - 1 / N_0 - 1 / N_1; and the given f is what is used."""
    _, energies, counts = oscillators(rng, [30, 45])
    samples = candidate.mbar.samples.SampleSet(energies, counts)
    delta, error = candidate.mbar.estimates.differences(samples)
    argument = np.log(counts[0] / counts[1]) + energies[1] - energies[0] - delta[0, 1]
    variance = 1.0 / (1.0 / (2.0 + 2.0 * np.cosh(argument))).sum() - (1.0 / counts).sum()
    np.testing.assert_allclose(error, np.sqrt(variance) * np.array([[0.0, 1.0], [1.0, 0.0]]), rtol=1e-5)
    given = np.array([5.0, 5.0 + delta[0, 1]])
    again, same = assert_unmodified(candidate.mbar.estimates.differences, samples, given)
    assert_equivalent([samples.energies, samples.counts], [energies, counts], rtol=0.0, atol=0.0)
    np.testing.assert_allclose(again, delta, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(same, error, rtol=1e-5)
    for whole in (np.array([5, 7]), np.array([5.0, 7.0], dtype=np.float32)):
        apart, _ = candidate.mbar.estimates.differences(samples, whole)
        assert_equivalent(apart, np.array([[0.0, 2.0], [-2.0, 0.0]]), rtol=1e-6, check_dtype=True)
    further = np.array([[0.0, 1.0], [-1.0, 0.0]])
    other, _ = candidate.mbar.estimates.differences(samples, given + further[0])
    np.testing.assert_allclose(other, delta + further, rtol=1e-6, atol=1e-9)


@comparing
def test_equal_states_do_not_differ(candidate, rng):
    """The same states again, up to constants: those are the differences, without error, and no root is NaN."""
    _, energies, _ = oscillators(rng, [26, 30])
    shift = rng.uniform(-1e3, 1e3, 8)
    copies = np.repeat(energies, 4, axis=0) + shift[:, None]
    samples = candidate.mbar.samples.SampleSet(copies, [9, 7, 0, 10, 20, 0, 4, 6])
    delta, error = candidate.mbar.estimates.differences(samples)
    for same in (slice(0, 4), slice(4, 8)):
        np.testing.assert_allclose(delta[same, same], shift[same] - shift[same, None], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(error[same, same], np.zeros((4, 4)), atol=1e-5)
    np.testing.assert_allclose(error[:4, 4:], np.full((4, 4), error[0, 4]), rtol=1e-5)
    assert error[0, 4] > 1e-3
    close = energies[0] + 4e-4 * np.array([[0.0], [1.0]]) * rng.choice(
        [-1.0, 1.0], 56
    )  # a small error is no error of 0
    _, error = candidate.mbar.estimates.differences(candidate.mbar.samples.SampleSet(close, [26, 30]))
    half = 4e-4 * np.std((close[1] - close[0]) / 4e-4) / np.sqrt(56)
    np.testing.assert_allclose(error[0, 1], half, atol=1e-5)


@comparing
def test_no_error_is_nan_where_f_is_no_solution(candidate, rng):
    """Such free energies put every sample into the first state: (8) has the eigenvalue 1 - 40 / 10, and (12) is negative."""
    _, energies, counts = oscillators(rng, [10, 30])
    samples = candidate.mbar.samples.SampleSet(energies, counts)
    delta, error = candidate.mbar.estimates.differences(samples, np.array([40.0, 0.0]))
    np.testing.assert_allclose(delta, [[0.0, -40.0], [40.0, 0.0]])
    assert error.shape == (2, 2)
    assert np.all(error >= 0.0)


# expectation


@averaging
def test_average_in_an_unsampled_state_is_that_of_the_authors(candidate, reference, rng):
    positions, energies, counts = oscillators(rng, [25, 20, 0])
    target = 0.5 * (positions - rng.uniform(0.2, 0.8)) ** 2 + rng.uniform(-1e3, 1e3)
    observable = np.cos(positions) - 0.3
    pair = [
        side.mbar.estimates.expectation(side.mbar.samples.SampleSet(energies, counts), observable, target)
        for side in (candidate, reference)
    ]
    assert all(isinstance(value, float) for value in pair[0])
    np.testing.assert_allclose(pair[0], pair[1], rtol=1e-5, atol=1e-8)
    f = reference.mbar.solver.free_energies(reference.mbar.samples.SampleSet(energies, counts))
    weights = weights_of(energies, counts, f)
    w = np.exp(-(target - target.min())) / (np.exp(f[:, None] - energies).T @ counts)
    w /= w.sum()
    deviation = w * (observable - w @ observable)
    variance = deviation @ pseudo_inverse_form(weights, counts) @ deviation
    np.testing.assert_allclose(pair[0], [w @ observable, np.sqrt(variance)], rtol=1e-5, atol=1e-6)


@averaging
def test_average_of_one_state_is_the_sample_mean(candidate, rng):
    """Also for an observable with mean 0; a constant has no error; weights of a given f are used."""
    _, energies, _ = oscillators(rng, [30])
    samples = candidate.mbar.samples.SampleSet(energies, [30])
    run = candidate.mbar.estimates.expectation
    observable = rng.normal(size=30)
    for values in (observable + 1.5, observable - observable.mean(), -np.abs(observable)):
        mean, error = run(samples, values, energies[0])
        np.testing.assert_allclose(mean, values.mean(), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(error, values.std() / np.sqrt(30), rtol=1e-5)
    mean, error = run(samples, 4e-4 * observable / observable.std(), energies[0])  # a small error is no error of 0
    np.testing.assert_allclose(error, 4e-4 / np.sqrt(30), rtol=1e-5)
    flat = candidate.mbar.samples.SampleSet(np.zeros((1, 30)), [30])
    mean, error = run(flat, np.tile([1.0, -1.0], 15), np.zeros(30))  # the mean is 0 to the last digit
    np.testing.assert_allclose([mean, error], [0.0, 1.0 / np.sqrt(30)], rtol=1e-5, atol=1e-9)
    mean, error = run(samples, np.full(30, 2.5), energies[0] * 1.1, np.array([4.0]))
    np.testing.assert_allclose([mean, error], [2.5, 0.0], atol=1e-6)


@averaging
def test_forbidden_samples_do_not_count_and_shapes_must_match(candidate, rng):
    _, energies, _ = oscillators(rng, [24])
    samples = candidate.mbar.samples.SampleSet(energies, [24])
    run = candidate.mbar.estimates.expectation
    observable, target = rng.normal(size=24), energies[0].copy()
    target[:9] = np.inf
    observable[:3] = [np.nan, np.inf, -np.inf]
    kept = observable[9:]
    mean, error = assert_unmodified(run, samples, observable, target, np.array([2.5]))
    assert_equivalent(samples.energies, energies, rtol=0.0, atol=0.0)
    np.testing.assert_allclose(mean, kept.mean(), rtol=1e-6)
    np.testing.assert_allclose(error, np.sqrt(((kept - kept.mean()) ** 2).sum()) / 15, rtol=1e-5)
    good = np.zeros(24)
    for bad in (
        (good[:-1], target),
        (good, target[:-1]),
        (good[:, None], target),
        (good[:1], target),  # these would be spread over all samples
        (good, energies[0, :1]),
        (good[None], target),
        (good, np.full(24, np.inf)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(samples, *bad)


@averaging
def test_report_sums_up_all_states(candidate, reference, rng):
    positions, energies, counts = oscillators(rng, [18, 0, 22])
    names = ("free_energy", "free_energy_error", "mean", "mean_error")
    reports = []
    for side in (candidate, reference):
        report = side.mbar.report.analyse(side.mbar.samples.SampleSet(energies, counts), positions)
        reports.append([getattr(report, name) for name in names])
    assert_equivalent(reports[0], reports[1], rtol=1e-5, atol=1e-6)


@averaging
def test_given_free_energies_are_used_as_they_are(candidate, rng):
    positions, energies, counts = oscillators(rng, [14, 17])
    samples = candidate.mbar.samples.SampleSet(energies, counts)
    for f in rng.normal(size=(3, 2)):
        w = np.exp(-energies[1]) / (counts @ np.exp(f[:, None] - energies))
        mean, _ = candidate.mbar.estimates.expectation(samples, positions, energies[1], f)
        assert_equivalent(mean, float(w @ positions / w.sum()), rtol=1e-6, atol=1e-9)


@averaging
def test_the_error_of_an_average_is_not_nan_where_f_is_no_solution(candidate, rng):
    """Two groups of samples far apart, each of them put into one of its two states: the eigenvalue 1 - 40 / 10, twice."""
    _, energies, _ = oscillators(rng, [10, 30])
    far = np.full((2, 40), 1e3)
    samples = candidate.mbar.samples.SampleSet(np.block([[energies, far], [far, energies]]), [10, 30, 10, 30])
    side = np.repeat([1.0, -1.0], 40)
    level = rng.normal()
    mean, error = candidate.mbar.estimates.expectation(
        samples, level + side, np.tile(energies[0], 2), np.array([40.0, 0.0, 40.0, 0.0])
    )
    np.testing.assert_allclose(mean, level, rtol=1e-6, atol=1e-9)
    assert error >= 0.0


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
