"""Hidden tests of the task ademamix."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

alpha = pytest.mark.interface("optim.ademamix.alpha_at")
beta3 = pytest.mark.interface("optim.ademamix.beta3_at")
one_update = pytest.mark.interface("optim.ademamix.update")

FIELDS = ("step", "fast", "slow", "second")


def read(states):
    """States as plain data."""
    return {name: {field: getattr(state, field) for field in FIELDS} for name, state in states.items()}


def problem(rng):
    """Two parameters of different shapes."""
    return {"weight": rng.normal(size=(4, 3)), "bias": rng.normal(size=5)}


def gradients_of(rng, count, parameters):
    return [{name: rng.normal(size=value.shape) for name, value in parameters.items()} for _ in range(count)]


def settings(rng):
    """Hyper-parameters with schedules that end at different times, within ten updates."""
    return {
        "lr": rng.uniform(0.01, 0.1),
        "beta1": rng.uniform(0.5, 0.8),
        "beta2": rng.uniform(0.85, 0.95),
        "beta3": rng.uniform(0.96, 0.99),
        "alpha": rng.uniform(3.0, 8.0),
        "weight_decay": rng.uniform(0.1, 0.5),
        "beta3_warmup": 7,
        "alpha_warmup": 5,
    }


def run(side, parameters, gradients, options, lr=None):
    """Parameters and states after one update for each entry of `gradients`."""
    config, states = side.optim.config.Config(**options), {}
    for each in gradients:
        parameters, states = side.optim.ademamix.update(parameters, each, states, config, lr)
    return parameters, read(states)


def rates(steps, last, start, warmup):
    """The schedule of beta3 in closed form, for rates that are not 0."""
    share = np.minimum(np.asarray(steps) / warmup, 1.0)
    return np.exp(np.log(start) * np.log(last) / ((1.0 - share) * np.log(last) + share * np.log(start)))


# alpha_at


@alpha
def test_alpha_grows_linearly_and_then_stays(candidate, rng):
    value, warmup = rng.uniform(2.0, 10.0), rng.integers(5, 50).item()
    found = [candidate.optim.ademamix.alpha_at(step, value, warmup) for step in range(2 * warmup)]
    assert {type(each) for each in found} == {float}
    np.testing.assert_allclose(found[:warmup], value / warmup * np.arange(warmup), rtol=1e-6)
    assert set(found[warmup:]) == {value}


@alpha
def test_alpha_without_a_schedule(candidate, rng):
    value = rng.integers(2, 10).item()
    for given in ((value,), (value, None), (value, 0)):
        for step in (0, 1, 1000):
            found = candidate.optim.ademamix.alpha_at(step, *given)
            assert type(found) is float
            assert found == value


# beta3_at


@beta3
def test_the_half_life_grows_linearly(candidate, rng):
    """Rates whose distance from 1 is down to 1e-7: what counts is that distance."""
    warmup = rng.integers(20, 60).item()
    steps = np.arange(warmup)
    near = 1.0 - rng.uniform(1.0, 5.0) * 1e-7
    for start, last in ((0.9, 0.9999), (rng.uniform(0.1, 0.5), near), (1.0 - rng.uniform(3.0, 8.0) * 1e-6, near)):
        found = [candidate.optim.ademamix.beta3_at(step, last, start, warmup) for step in steps.tolist()]
        assert {type(each) for each in found} == {float}
        # Of the distance 1e-7, the spacing of floats below 1 (1.1e-16) is 1e-9.
        np.testing.assert_allclose(1.0 - np.array(found), 1.0 - rates(steps, last, start, warmup), rtol=1e-6)


@beta3
def test_a_schedule_from_a_rate_of_zero(candidate, rng):
    last, warmup = rng.uniform(0.9, 0.99), rng.integers(10, 30).item()
    found = [candidate.optim.ademamix.beta3_at(step, last, 0.0, warmup) for step in range(warmup + 1)]
    assert found[0] == 0.0
    np.testing.assert_allclose(found[1:], last ** (warmup / np.arange(1, warmup + 1)), rtol=1e-6)
    for step in (0, 1, 5):
        assert candidate.optim.ademamix.beta3_at(step, 0.0, 0.0, 10) == 0.0


@beta3
def test_the_rate_after_above_and_without_the_schedule(candidate, rng):
    run_at = candidate.optim.ademamix.beta3_at
    for last in rng.uniform(0.05, 0.5, 40).tolist():  # many and small, as rounding hides some of the differences
        lower, warmup = rng.uniform(0.01, 0.04), rng.integers(5, 20).item()
        assert run_at(warmup, last, lower, warmup) == last
        assert run_at(warmup - 2, last, last, warmup) == last
        assert run_at(warmup - 1, last, lower, warmup) < last
    assert run_at(10 * warmup, last, lower, warmup) == last
    assert type(run_at(3, 0, 0)) is float
    for step in (0, 1, warmup - 1, warmup):
        assert run_at(step, last, lower) == last
        assert run_at(step, last, lower, 0) == last
        assert run_at(step, last, last, warmup) == last
        assert run_at(step, last, 0.5 * (1.0 + last), warmup) == last
        assert run_at(step, 0.0, lower, warmup) == 0.0


# update


@one_update
def test_first_update_by_hand(candidate, rng):
    """The slow average is not corrected, decay takes the old value, and both schedules are at 1."""
    parameters = problem(rng)
    (gradients,) = gradients_of(rng, 1, parameters)
    gradients["bias"] = 1e-9 * gradients["bias"]  # where eps matters
    options = settings(rng)
    new, states = run(candidate, parameters, [gradients], {**options, "eps": 1e-9})
    rate = rates(1, options["beta3"], options["beta1"], 7)
    for name, old in parameters.items():
        gradient = gradients[name]
        ratio = gradient * (1.0 + options["alpha"] / 5 * (1.0 - rate)) / (np.abs(gradient) + 1e-9)
        expected = old - options["lr"] * (ratio + options["weight_decay"] * old)
        assert_equivalent(new[name], expected, rtol=1e-9, check_dtype=True)
        state = {
            "step": 1,
            "fast": (1.0 - options["beta1"]) * gradient,
            "slow": (1.0 - rate) * gradient,
            "second": (1.0 - options["beta2"]) * gradient**2,
        }
        assert_equivalent(states[name], state, rtol=1e-9, atol=0.0, check_dtype=True)


@one_update
def test_averages_are_sums_of_past_gradients(candidate, rng):
    """Through the end of both warm-ups."""
    parameters, options = problem(rng), settings(rng)
    gradients = gradients_of(rng, 10, parameters)
    _, states = run(candidate, parameters, gradients, options)
    rate = rates(np.arange(1, 11), options["beta3"], options["beta1"], 7)
    slow = (1.0 - rate) * np.append(np.cumprod(rate[:0:-1])[::-1], 1.0)
    age = np.arange(9, -1, -1)
    for name in parameters:
        history = np.stack([each[name] for each in gradients], axis=-1)
        expected = {
            "step": 10,
            "fast": history @ ((1.0 - options["beta1"]) * options["beta1"] ** age),
            "slow": history @ slow,
            "second": history**2 @ ((1.0 - options["beta2"]) * options["beta2"] ** age),
        }
        assert_equivalent(states[name], expected, rtol=1e-9, atol=1e-12)


@one_update
@pytest.mark.parametrize("scheduled", [True, False])
def test_updates_are_those_of_the_authors(candidate, reference, rng, scheduled):
    parameters, options = problem(rng), settings(rng)
    gradients = gradients_of(rng, 9, parameters)
    if not scheduled:
        options |= {"beta3_warmup": None, "alpha_warmup": 0}
    found, expected = (run(side, parameters, gradients, options) for side in (candidate, reference))
    assert_equivalent(found, expected, rtol=1e-9, atol=1e-12)


@one_update
def test_parameters_without_a_gradient_are_skipped(candidate, rng):
    """No entry and None do the same, at the start and later; each parameter counts its own updates."""
    parameters, options = problem(rng), settings(rng)
    gradients = gradients_of(rng, 4, parameters)
    alone, states = run(candidate, parameters, [{"bias": each["bias"]} for each in gradients], options)
    np.testing.assert_array_equal(alone["weight"], parameters["weight"])
    assert set(states) == {"bias"}
    mixed = []
    for each in gradients:
        mixed += [{"weight": each["weight"]}, each, {**each, "bias": None}]
    new, late = run(candidate, parameters, mixed, options)
    assert late["weight"]["step"] == 12
    assert_equivalent(new["bias"], alone["bias"], rtol=1e-12)
    assert_equivalent(late["bias"], states["bias"], rtol=1e-12)
    new, states = run(candidate, parameters, [{}, {"weight": None, "bias": None}], options)
    assert_equivalent(new, parameters, rtol=0.0, atol=0.0)
    assert states == {}


@one_update
def test_a_gradient_of_zeros_is_a_gradient(candidate, rng):
    parameters, options = problem(rng), {**settings(rng), "beta3_warmup": None}
    first, second = gradients_of(rng, 2, parameters)
    nothing = {name: np.zeros(value.shape) for name, value in parameters.items()}
    new, states = run(candidate, parameters, [nothing], options)
    for name, old in parameters.items():
        assert_equivalent(new[name], old * (1.0 - options["lr"] * options["weight_decay"]), rtol=1e-9)
    _, states = run(candidate, parameters, [first, nothing, second], options)
    rate = options["beta3"]
    slow = (1.0 - rate) * (rate**2 * first["bias"] + second["bias"])
    assert states["bias"]["step"] == 3
    assert_equivalent(states["bias"]["slow"], slow, rtol=1e-9, atol=1e-12)


@one_update
def test_without_a_fast_average(candidate, rng):
    """Nothing is stored of it, and the schedule of beta3 starts from 0."""
    parameters, options = problem(rng), {**settings(rng), "beta1": 0.0, "beta2": 0.0, "eps": 0.0, "lr": 0.1}
    first, second = gradients_of(rng, 2, parameters)
    new, states = run(candidate, parameters, [first, second], options)
    early, later = options["beta3"] ** (7 / np.array([1, 2]))
    decay, weight = 1.0 - 0.1 * options["weight_decay"], options["alpha"] / 5
    for name, old in parameters.items():
        assert states[name]["fast"] is None
        slow = (1.0 - early) * first[name]
        value = decay * old - 0.1 * (first[name] + weight * slow) / np.abs(first[name])
        slow = later * slow + (1.0 - later) * second[name]
        value = decay * value - 0.1 * (second[name] + 2.0 * weight * slow) / np.abs(second[name])
        assert_equivalent(states[name]["slow"], slow, rtol=1e-9, atol=1e-12)
        assert_equivalent(new[name], value, rtol=1e-6, atol=1e-9)


@one_update
def test_the_learning_rate_of_an_update(candidate, rng):
    parameters, options = problem(rng), settings(rng)
    gradients = gradients_of(rng, 1, parameters)
    usual, states = run(candidate, parameters, gradients, options)
    for share in (0.0, 0.25, 3.0):
        new, again = run(candidate, parameters, gradients, options, share * options["lr"])
        for name, old in parameters.items():
            assert_equivalent(new[name], old + share * (usual[name] - old), rtol=1e-9, atol=1e-9)
        assert_equivalent(again, states, rtol=0.0, atol=0.0)


@one_update
def test_other_types_of_numbers(candidate, rng):
    """Parameters keep their type, states are float64, and gradients may be single, whole or lists."""
    parameters = {name: value.astype(np.float32) for name, value in problem(rng).items()}
    options = settings(rng)
    gradients = {
        "weight": rng.normal(size=(4, 3)).astype(np.float32),
        "bias": rng.integers(100, 128, 5).astype(np.uint8),
    }
    exact = {name: value.astype(np.float64) for name, value in parameters.items()}
    precise = [{name: value.astype(np.float64) for name, value in gradients.items()}]
    expected, states = run(candidate, exact, 3 * precise, options)
    for given in (gradients, {name: value.tolist() for name, value in gradients.items()}):
        new, found = run(candidate, parameters, 3 * [given], {**options, "lr": 0.0})
        assert_equivalent(new, parameters, rtol=0.0, atol=0.0, check_dtype=True)
        assert_equivalent(found, states, rtol=1e-12, check_dtype=True)
        new, _ = run(candidate, parameters, 3 * [given], options)
        for name in parameters:  # three roundings to single precision
            assert_equivalent(new[name], expected[name].astype(np.float32), rtol=1e-6, atol=1e-6, check_dtype=True)


@one_update
def test_a_parameter_of_a_single_number_has_no_axis(candidate, rng):
    options = settings(rng)
    old, gradient = np.array(rng.normal()), np.array(rng.normal())
    new, states = run(candidate, {"scale": old}, [{"scale": gradient}], options)
    vector, of_vector = run(candidate, {"scale": old[None]}, [{"scale": gradient[None]}], options)
    assert np.shape(new["scale"]) == np.shape(states["scale"]["slow"]) == ()
    np.testing.assert_allclose(new["scale"], vector["scale"][0], rtol=1e-6)
    np.testing.assert_allclose(states["scale"]["slow"], of_vector["scale"]["slow"][0], rtol=1e-9)


@one_update
def test_single_precision_is_not_worked_in(candidate, rng):
    """Decay leaves five millionths of a parameter, of which a product in single precision would lose a hundredth."""
    old = rng.uniform(1.0, 2.0, 50).astype(np.float32)
    options = {"lr": 0.5, "weight_decay": 2.0 - 1e-5}
    new, _ = run(candidate, {"weight": old}, [{"weight": np.zeros(50)}], options)
    expected = (old.astype(np.float64) * 5e-6).astype(np.float32)
    assert_equivalent(new["weight"], expected, rtol=1e-6, atol=0.0, check_dtype=True)


@one_update
def test_gradients_that_do_not_fit_are_refused(candidate, rng):
    parameters, options = problem(rng), settings(rng)
    (gradients,) = gradients_of(rng, 1, parameters)
    for bad in (
        {"other": np.zeros(3)},
        {**gradients, "other": None},
        {"weight": gradients["weight"].T},
        {"weight": gradients["weight"].ravel()},
        {"weight": gradients["weight"][:1]},
        {"bias": 1.0},
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(candidate, parameters, [bad], options)
    new, _ = run(candidate, parameters, [gradients], options)
    assert new["weight"].shape == (4, 3)


@one_update
def test_nothing_is_modified(candidate, rng):
    parameters, options = problem(rng), settings(rng)
    first, second = gradients_of(rng, 2, parameters)
    config = candidate.optim.config.Config(**options)
    call = candidate.optim.ademamix.update
    middle, states = assert_unmodified(call, parameters, {"bias": first["bias"]}, {}, config)
    kept = {field: np.array(getattr(states["bias"], field)) for field in FIELDS}
    new, later = call(middle, second, states, config)
    assert set(later) == {"weight", "bias"}
    assert later["bias"].step == 2
    assert_equivalent({field: np.array(getattr(states["bias"], field)) for field in FIELDS}, kept, rtol=0.0, atol=0.0)
    assert not np.allclose(new["weight"], parameters["weight"])


@one_update
def test_the_driver_trains_as_the_authors(candidate, reference, rng):
    """The bias joins after four updates, in the middle of the warm-ups."""
    inputs = rng.normal(size=(12, 3))
    targets = inputs @ rng.normal(size=(3, 2)) + 1.0
    start = {"weight": rng.normal(size=(3, 2)), "bias": np.zeros(2)}
    options, found = settings(rng), []
    for side in (candidate, reference):
        task = side.optim.problems.LinearModel(inputs, targets, bias_from=4)
        parameters, states = side.optim.train.train(task, start, side.optim.config.Config(**options), 9, warmup=2)
        found.append((parameters, read(states)))
    assert found[1][1]["bias"]["step"] == 5
    assert_equivalent(found[0], found[1], rtol=1e-6, atol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
