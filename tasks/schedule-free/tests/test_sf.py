"""Hidden tests of the task schedule-free."""

import itertools
import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

counting = pytest.mark.interface("sf.schedule.advance")
stepping = pytest.mark.interface("sf.optimizer.step")
switching = pytest.mark.interface("sf.optimizer.switch")
saving = pytest.mark.interface("sf.checkpoint.save")
restoring = pytest.mark.interface("sf.checkpoint.restore")

BETAS = (0.0, 0.05, 0.7, 1.0)


def tree(rng):
    """Parameters, or gradients, of a model with layers: a dict with a list, a tuple and a number."""
    return {
        "layers": [{"weight": rng.normal(size=(3, 2)), "bias": rng.normal(size=2)}, {"weight": rng.normal(size=2)}],
        "norm": (rng.normal(size=3), rng.normal(size=(1, 3))),
        "scale": np.array(rng.normal()),
    }


def leaves(values):
    """Leaves of a tree in order; the test's own walk, which also checks that they are arrays."""
    if isinstance(values, dict):
        return [leaf for value in values.values() for leaf in leaves(value)]
    if isinstance(values, (list, tuple)):
        return [leaf for value in values for leaf in leaves(value)]
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.float64
    return [values]


def same_structure(actual, expected):
    assert type(actual) is type(expected)
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key, value in expected.items():
            same_structure(actual[key], value)
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            same_structure(one, other)


def agree(actual, expected, rtol=1e-7):
    """Structure, kinds, shapes and values of two trees."""
    same_structure(actual, expected)
    for one, other in zip(leaves(actual), leaves(expected), strict=True):
        assert_equivalent(one, other, rtol=rtol, atol=rtol * max(1e-3, float(np.abs(other).max())))


class Plain:
    """The method with all three sequences, for one array."""

    def __init__(self, start, settings):
        self.x, self.z, self.v = start.copy(), start.copy(), np.zeros_like(start)
        self.t, self.rates, self.weights = 0, [], []
        self.settings = {
            "rule": "sgd", "lr": 1.0, "beta": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0,
            "warmup_steps": 0, "lr_power": 2.0, "step_power": 0.0, **settings,
        }  # fmt: skip

    @property
    def y(self):
        return (1.0 - self.settings["beta"]) * self.z + self.settings["beta"] * self.x

    def step(self, gradient, scale=1.0):
        own = self.settings
        self.t += 1
        rate = own["lr"] * scale
        if own["warmup_steps"]:
            rate *= min(1.0, self.t / own["warmup_steps"])
        if own["rule"] == "adamw":
            rate *= math.sqrt(1.0 - own["beta2"] ** self.t)
        self.rates.append(rate)
        self.weights.append(self.t ** own["step_power"] * max(self.rates) ** own["lr_power"])
        if gradient is None:
            return
        direction = gradient
        if own["rule"] == "adamw":
            self.v = own["beta2"] * self.v + (1.0 - own["beta2"]) * gradient**2
            direction = gradient / (np.sqrt(self.v) + own["eps"])
        share = self.weights[-1] / sum(self.weights) if sum(self.weights) else 0.0
        self.z = self.z - rate * (direction + own["weight_decay"] * self.y)
        self.x = (1.0 - share) * self.x + share * self.z


def settings_of(rng, rule, **changes):
    return {
        "rule": rule,
        "lr": float(rng.uniform(0.05, 0.3)),
        "beta": 0.8,
        "beta2": 0.9,
        "weight_decay": float(rng.uniform(0.1, 0.5)),
        "warmup_steps": 3,
        **changes,
    }


def trained(side, params, gradients, settings, scales=None):
    config = side.sf.config.Config(**settings)
    state = side.sf.state.State.start(params, config)
    for count, gradient in enumerate(gradients):
        state = side.sf.optimizer.step(state, gradient, config, *([scales[count]] if scales else []))
    return state, config


# advance


def advances(candidate, settings, scales):
    config = candidate.sf.config.Config(**settings)
    counters, found = candidate.sf.state.Counters(), []
    for scale in scales:
        rate, share, counters = candidate.sf.schedule.advance(counters, config, scale)
        found.append([rate, share, counters.step, counters.largest, counters.total])
    return found


@counting
@pytest.mark.parametrize("rule", ["sgd", "adamw"])
def test_advance_follows_warm_up_and_scales(candidate, rng, rule):
    """The largest learning rate counts, not the present one; the root of AdamW is part of it."""
    scales = [1.0, 0.7, 1.6, 0.0, 1.1, 0.2, *rng.uniform(0.0, 2.0, 4).tolist()]
    for warmup, powers in ((4, (2.0, 0.0)), (20, (1.0, 0.5)), (0, (3.0, 2.0)), (1, (0.0, 0.0)), (2, (0.0, 1.0))):
        settings = settings_of(rng, rule, warmup_steps=warmup, lr_power=powers[0], step_power=powers[1])
        plain, total = Plain(np.zeros(1), settings), 0.0
        for step, (found, scale) in enumerate(zip(advances(candidate, settings, scales), scales, strict=True), start=1):
            plain.step(None, scale)
            total += plain.weights[-1]
            assert [type(value) for value in found] == [float, float, int, float, float]
            expected = [plain.rates[-1], plain.weights[-1] / total, step, max(plain.rates), total]
            assert_equivalent(found, expected, rtol=1e-9, atol=1e-15)


@counting
def test_advance_without_scales_gives_plain_means(candidate, rng):
    """1 / t for a constant learning rate, and the same for a warm-up of no step and of one step."""
    settings = settings_of(rng, "sgd", warmup_steps=0)
    config = candidate.sf.config.Config(**settings)
    first = advances(candidate, settings, [1.0] * 6)
    assert_equivalent([row[0] for row in first], [settings["lr"]] * 6, rtol=1e-9)
    assert_equivalent([row[1] for row in first], [1.0 / t for t in range(1, 7)], rtol=1e-9)
    assert_equivalent(advances(candidate, {**settings, "warmup_steps": 1}, [1.0] * 6), first, rtol=1e-9)
    for lr, scale in ((1, 1), (np.float64(0.5), np.float64(1.0))):  # neither of them a Python float
        [found] = advances(candidate, {**settings, "lr": lr, "lr_power": 2}, [scale])
        assert [type(value) for value in found] == [float, float, int, float, float]
    rate, share, _ = candidate.sf.schedule.advance(candidate.sf.state.Counters(), config)
    assert_equivalent([rate, share], [settings["lr"], 1.0], rtol=1e-9)


@counting
def test_advance_with_a_learning_rate_of_zero(candidate, rng):
    """No weight yet: a share of 0, then all of it; but an exponent of 0 is the factor 1 from the start."""
    settings = settings_of(rng, "sgd", warmup_steps=0)
    found = advances(candidate, settings, [0.0, 0.0, 1.0, 0.0])
    assert_equivalent([row[1] for row in found], [0.0, 0.0, 1.0, 0.5], rtol=1e-9)
    assert [type(row[1]) for row in found] == [float] * 4
    found = advances(candidate, {**settings, "lr_power": 0.0}, [0.0, 0.0, 1.0])
    assert_equivalent([row[1] for row in found], [1.0, 0.5, 1.0 / 3.0], rtol=1e-9)
    tiny = advances(candidate, {**settings, "lr": 1e-9}, [1.0, 1.0])  # little is not nothing
    assert_equivalent([row[1] for row in tiny], [1.0, 0.5], rtol=1e-9)
    config = candidate.sf.config.Config(**settings)
    for bad in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.sf.schedule.advance(candidate.sf.state.Counters(), config, bad)


# step


@stepping
@pytest.mark.parametrize("rule", ["sgd", "adamw"])
def test_steps_are_those_of_three_sequences(candidate, rng, rule):
    """Trees in mode "train": y and z, or z and x if beta is 0."""
    for beta in BETAS:
        settings = settings_of(rng, rule, beta=beta)
        params, gradients = tree(rng), [tree(rng) for _ in range(6)]
        scales = [1.0, 0.5, 1.5, 0.1, 1.0, 0.9]
        state, _ = trained(candidate, params, gradients, settings, scales)
        plains = [Plain(leaf, settings) for leaf in leaves(params)]
        for gradient, scale in zip(gradients, scales, strict=True):
            for plain, leaf in zip(plains, leaves(gradient), strict=True):
                plain.step(leaf, scale)
        assert state.mode == "train"
        same_structure(state.params, params)
        same_structure(state.other, params)
        for found, plain in zip(leaves(state.params), plains, strict=True):
            assert_equivalent(found, plain.y, rtol=1e-7, atol=1e-9)
        for found, plain in zip(leaves(state.other), plains, strict=True):
            assert_equivalent(found, plain.z if beta else plain.x, rtol=1e-7, atol=1e-9)
        if rule == "adamw":
            same_structure(state.moments, params)
            for found, plain in zip(leaves(state.moments), plains, strict=True):
                assert_equivalent(found, plain.v, rtol=1e-7, atol=1e-9)
        else:
            assert state.moments is None
        expected = [6, max(plains[0].rates), sum(plains[0].weights)]
        assert_equivalent([state.counters.step, state.counters.largest, state.counters.total], expected, rtol=1e-7)


@stepping
@pytest.mark.parametrize("rule", ["sgd", "adamw"])
def test_parameters_without_a_gradient_stay(candidate, rng, rule):
    """Leaves, subtrees and the whole tree; later they join in with the counters of all."""
    for beta in (0.0, 0.7):
        settings = settings_of(rng, rule, beta=beta)
        params, gradients = tree(rng), [tree(rng) for _ in range(6)]
        given = [dict(gradient) for gradient in gradients]
        given[0]["layers"] = None
        given[1]["layers"] = [None, {"weight": None}]
        given[1]["norm"] = (None, gradients[1]["norm"][1])
        given[2] = None
        given[3]["scale"] = None
        given[3]["layers"] = [{"weight": gradients[3]["layers"][0]["weight"], "bias": None}, None]
        state, _ = trained(candidate, params, given, settings)
        plains = [Plain(leaf, settings) for leaf in leaves(params)]
        absent = [{0, 1, 2}, {0, 1, 2, 3}, set(range(6)), {1, 2, 5}, set(), set()]
        for gradient, missing in zip(gradients, absent, strict=True):
            for position, (plain, leaf) in enumerate(zip(plains, leaves(gradient), strict=True)):
                plain.step(None if position in missing else leaf)
        for found, plain in zip(leaves(state.params), plains, strict=True):
            assert_equivalent(found, plain.y, rtol=1e-7, atol=1e-9)
        for found, plain in zip(leaves(state.other), plains, strict=True):
            assert_equivalent(found, plain.z if beta else plain.x, rtol=1e-7, atol=1e-9)
        if rule == "adamw":
            for found, plain in zip(leaves(state.moments), plains, strict=True):
                assert_equivalent(found, plain.v, rtol=1e-7, atol=1e-9)
        assert state.counters.step == 6


@stepping
def test_gradients_of_zero_decay_and_average(candidate, rng):
    """Without eps, AdamW's direction is 0 over 0, in some elements only."""
    for rule in ("sgd", "adamw"):
        settings = settings_of(rng, rule, eps=0.0)
        start = rng.normal(size=4)
        gradient = np.array([0.0, rng.uniform(0.5, 1.0), 0.0, -rng.uniform(0.5, 1.0)])
        state, _ = trained(candidate, start, [np.zeros(4), gradient, gradient], settings)
        plain = Plain(start, {**settings, "eps": 1e-300})
        for each in (np.zeros(4), gradient, gradient):
            plain.step(each)
        assert_equivalent(state.params, plain.y, rtol=1e-7)
        assert_equivalent(state.other, plain.z, rtol=1e-7)
        tiny, _ = trained(candidate, start, [np.full(4, 1e-200)], settings)  # its square is 0
        rate = settings["lr"] / 3.0 * (math.sqrt(0.1) if rule == "adamw" else 1.0)
        assert_equivalent(tiny.other, start * (1.0 - rate * settings["weight_decay"]), rtol=1e-7)
        calm, _ = trained(candidate, start, [np.zeros(4)] * 3, {**settings, "weight_decay": 0.0})
        assert_equivalent(calm.params, start, rtol=1e-12)


@stepping
def test_first_steps_of_adamw_have_the_size_of_the_learning_rate(candidate, rng):
    """Whatever the size of the gradient; and eps is added to the root, not to v, nor to a corrected v."""
    size, lr = 10.0 ** rng.uniform(-6.0, 6.0, 5), rng.uniform(0.01, 0.1)
    gradient = size * np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    settings = {"rule": "adamw", "lr": lr, "beta2": rng.uniform(0.9, 0.999), "eps": 0.0}
    state, _ = trained(candidate, np.zeros(5), [gradient], settings)
    assert_equivalent(state.other, -lr * np.sign(gradient), rtol=1e-7)
    assert_equivalent(state.params, -lr * np.sign(gradient), rtol=1e-7)
    state, _ = trained(candidate, np.zeros(5), [gradient / size], {**settings, "eps": 2.0})
    root = math.sqrt(1.0 - settings["beta2"])
    assert_equivalent(state.other, -lr * root * np.sign(gradient) / (root + 2.0), rtol=1e-7)


@stepping
def test_malformed_gradients_are_refused_and_good_ones_of_any_type_are_not(candidate, rng):
    settings = settings_of(rng, "sgd")
    params = tree(rng)
    state, config = trained(candidate, params, [tree(rng)], settings)
    good = tree(rng)
    for name, value in (
        ("scale", np.ones(1)),
        ("scale", np.ones((2, 2))),
        ("norm", (good["norm"][0], good["norm"][0])),
        ("norm", (good["norm"][0][:1], good["norm"][1])),
        ("norm", (good["norm"][1], good["norm"][1])),
        ("norm", good["norm"][:1]),
        ("layers", good["layers"][:1]),
        ("layers", good["layers"][0]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.sf.optimizer.step(state, {**good, name: value}, config)
    rough = {
        "layers": [{"weight": np.ones((3, 2), dtype=np.int64), "bias": np.array([1, 0], dtype=bool)}, None],
        "norm": tuple(each.astype(np.float32) for each in good["norm"]),
        "scale": 2.5,
    }
    exact = {
        "layers": [{"weight": np.ones((3, 2)), "bias": np.array([1.0, 0.0])}, None],
        "norm": tuple(each.astype(np.float32).astype(np.float64) for each in good["norm"]),
        "scale": np.array(2.5),
    }
    for rule in ("sgd", "adamw"):
        first, second = (
            trained(candidate, params, [each] * 2, {**settings, "rule": rule})[0] for each in (rough, exact)
        )
        agree(first.params, second.params, 1e-12)
        agree(first.other, second.other, 1e-12)


@stepping
def test_a_state_can_be_used_again(candidate, rng):
    """Two different steps from one state, then the first one again."""
    for rule, beta in (("sgd", 0.0), ("adamw", 0.0), ("adamw", 0.6)):
        settings = settings_of(rng, rule, beta=beta)
        state, config = trained(candidate, tree(rng), [tree(rng), tree(rng)], settings)
        gradient, other = tree(rng), tree(rng)
        run = candidate.sf.optimizer.step
        first = assert_unmodified(run, state, gradient, config)
        values = [first.params, first.other]
        run(run(state, other, config), other, config)
        candidate.sf.optimizer.switch(state, config, "eval")
        again = run(state, gradient, config)
        assert np.abs(leaves(values[0])[0] - leaves(state.params)[0]).max() > 0.0
        for value, repeated in zip(values, (again.params, again.other), strict=True):
            agree(repeated, value, 1e-12)
        with pytest.raises(RuntimeError):
            run(candidate.sf.optimizer.switch(state, config, "eval"), gradient, config)


# switch


@switching
def test_the_evaluation_point_is_the_weighted_mean(candidate, rng):
    """The mean of z over all steps, with the square of the largest learning rate so far as weights."""
    for beta in BETAS:
        settings = settings_of(rng, "sgd", beta=beta, weight_decay=0.0, warmup_steps=4)
        start, gradients = rng.normal(size=(2, 3)), rng.normal(size=(7, 2, 3))
        state, config = trained(candidate, start, gradients, settings)
        rates = settings["lr"] * np.minimum(1.0, np.arange(1, 8) / 4.0)
        z = start - np.cumsum(rates[:, None, None] * gradients, axis=0)
        found = candidate.sf.optimizer.switch(state, config, "eval")
        assert found.mode == "eval"
        assert_equivalent(found.params, np.tensordot(rates**2 / np.sum(rates**2), z, axes=1), rtol=1e-7)
        assert_equivalent(found.other, z[-1], rtol=1e-7)


@switching
def test_switching_there_and_back_changes_nothing(candidate, rng):
    for rule, beta in itertools.product(("sgd", "adamw"), BETAS):
        settings = settings_of(rng, rule, beta=beta)
        state, config = trained(candidate, tree(rng), [tree(rng) for _ in range(4)], settings)
        switch = candidate.sf.optimizer.switch
        evaluated = switch(state, config, "eval")
        back = switch(evaluated, config, "train")
        exact = 0.0 if beta == 0.0 else 1e-9
        for name in ("params", "other") if rule == "sgd" else ("params", "other", "moments"):
            before, after = leaves(getattr(state, name)), leaves(getattr(back, name))
            same_structure(getattr(back, name), getattr(state, name))
            for one, other in zip(after, before, strict=True):
                assert_equivalent(one, other, rtol=exact, atol=exact)
            for mode, there in (("train", state), ("eval", evaluated)):
                for one, other in zip(
                    leaves(getattr(switch(there, config, mode), name)), leaves(getattr(there, name)), strict=True
                ):
                    np.testing.assert_array_equal(one, other)
        assert [evaluated.mode, back.mode] == ["eval", "train"]
        for each in (evaluated, back):
            assert_equivalent(
                [each.counters.step, each.counters.total], [state.counters.step, state.counters.total], rtol=1e-12
            )
        distance = max(
            np.abs(one - other).max() for one, other in zip(leaves(evaluated.params), leaves(state.params), strict=True)
        )
        assert (distance > 1e-3) == (beta < 1.0)
        for bad in ("test", "", None):
            with pytest.raises(ValueError):  # noqa: PT011
                switch(state, config, bad)


@switching
def test_evaluation_does_not_disturb_training(candidate, reference, rng):
    """The driver, on a problem of least squares; losses fall."""
    inputs = rng.normal(size=(30, 3))
    outputs = inputs @ rng.normal(size=3) + rng.normal() + 0.01 * rng.normal(size=30)
    params = {"weight": np.zeros(3), "bias": np.zeros(())}

    def fitted(side, beta, every):
        config = side.sf.config.Config(rule="sgd", lr=0.2, beta=beta, warmup_steps=5)
        problem = side.sf.problems.LeastSquares(inputs, outputs)
        state = side.sf.state.State.start(params, config)
        state, losses = side.sf.loop.fit(state, problem.loss_and_gradient, config, 40, every)
        return state, losses, problem.loss_and_gradient(state.params)[0]

    for beta in BETAS:
        (quiet, none, _), (state, losses, last) = fitted(candidate, beta, 0), fitted(candidate, beta, 8)
        expected, other, _ = fitted(reference, beta, 8)
        assert none == []
        agree(state.params, quiet.params)
        agree(state.params, expected.params)
        assert_equivalent(losses, other, rtol=1e-6)
        assert_equivalent(last, losses[-1], rtol=1e-6)
        assert losses[-1] < 0.7 * losses[0]


# save


@saving
def test_saved_entries_are_x_and_z_in_either_mode(candidate, rng):
    for beta in BETAS:
        settings = settings_of(rng, "sgd", beta=beta)
        params, gradients = tree(rng), [tree(rng) for _ in range(4)]
        state, config = trained(candidate, params, gradients, settings)
        plains = [Plain(leaf, settings) for leaf in leaves(params)]
        for gradient in gradients:
            for plain, leaf in zip(plains, leaves(gradient), strict=True):
                plain.step(leaf)
        paths = ["layers/0/weight", "layers/0/bias", "layers/1/weight", "norm/0", "norm/1", "scale"]
        for each in (state, candidate.sf.optimizer.switch(state, config, "eval")):
            saved = candidate.sf.checkpoint.save(each, config)
            assert set(saved) == {f"{name}/{path}" for name in "xz" for path in paths} | {"step", "largest", "total"}
            for path, plain in zip(paths, plains, strict=True):
                for key, expected in ((f"x/{path}", plain.x), (f"z/{path}", plain.z)):
                    assert isinstance(saved[key], np.ndarray)
                    assert saved[key].dtype == np.float64
                    assert_equivalent(saved[key], expected, rtol=1e-7, atol=1e-9)
            assert [type(saved[key]) for key in ("step", "largest", "total")] == [int, float, float]
            expected = [4, max(plains[0].rates), sum(plains[0].weights)]
            assert_equivalent([saved["step"], saved["largest"], saved["total"]], expected, rtol=1e-7)


@saving
def test_saved_moments_and_a_tree_that_is_a_leaf(candidate, rng):
    settings = settings_of(rng, "adamw")
    start, gradients = rng.normal(size=3), rng.normal(size=(3, 3))
    state, config = trained(candidate, start, gradients, settings)
    plain = Plain(start, settings)
    for gradient in gradients:
        plain.step(gradient)
    saved = candidate.sf.checkpoint.save(state, config)
    assert set(saved) == {"x/", "z/", "v/", "step", "largest", "total"}
    for key, expected in (("x/", plain.x), ("z/", plain.z), ("v/", plain.v)):
        assert_equivalent(saved[key], expected, rtol=1e-7, atol=1e-9)


# restore


@restoring
@pytest.mark.parametrize("rule", ["sgd", "adamw"])
def test_training_goes_on_as_if_it_had_not_been_interrupted(candidate, reference, rng, rule):
    for beta in BETAS:
        settings = settings_of(rng, rule, beta=beta, warmup_steps=6, step_power=0.5)
        params, gradients = tree(rng), [tree(rng) for _ in range(6)]
        whole, _ = trained(reference, params, gradients, settings)
        state, config = trained(candidate, params, gradients[:3], settings)
        like = {
            "layers": [
                {"weight": np.zeros((3, 2), dtype=np.float32), "bias": np.zeros(2)},
                {"weight": np.full(2, np.nan)},
            ],
            "norm": (np.zeros(3), np.zeros((1, 3))),
            "scale": 0,
        }
        saved = candidate.sf.checkpoint.save(state, config)
        restored = assert_unmodified(candidate.sf.checkpoint.restore, saved, like, config)
        assert restored.mode == "train"
        agree(restored.params, state.params)
        agree(restored.other, state.other)
        assert [type(getattr(restored.counters, name)) for name in ("step", "largest", "total")] == [int, float, float]
        for gradient in gradients[3:]:
            restored = candidate.sf.optimizer.step(restored, gradient, config)
        agree(restored.params, whole.params)
        agree(restored.other, whole.other)
        assert (restored.moments is None) == (rule == "sgd")
        if rule == "adamw":
            agree(restored.moments, whole.moments)
        assert_equivalent(
            [restored.counters.step, restored.counters.largest, restored.counters.total],
            [whole.counters.step, whole.counters.largest, whole.counters.total],
            rtol=1e-7,
        )


@restoring
def test_entries_that_do_not_fit_are_refused(candidate, rng):
    params = tree(rng)
    for rule in ("sgd", "adamw"):
        state, config = trained(candidate, params, [tree(rng)] * 2, settings_of(rng, rule))
        saved = candidate.sf.checkpoint.save(state, config)
        run = candidate.sf.checkpoint.restore
        for key in (
            "x/scale",
            "z/norm/1",
            "step",
            "largest",
            "total",
            *(["v/layers/0/bias"] if rule == "adamw" else []),
        ):
            with pytest.raises(ValueError):  # noqa: PT011
                run({name: value for name, value in saved.items() if name != key}, params, config)
        surplus = ["x/other", "mode", *(["v/scale"] if rule == "sgd" else [])]
        for key in surplus:
            with pytest.raises(ValueError):  # noqa: PT011
                run({**saved, key: np.zeros(())}, params, config)
        shapes = [("x/norm/1", np.zeros(3)), ("z/norm/0", np.zeros((1, 3))), ("x/scale", np.zeros(1))]
        for key, value in [*shapes, *([("v/norm/0", np.zeros(1))] if rule == "adamw" else [])]:
            with pytest.raises(ValueError):  # noqa: PT011
                run({**saved, key: value}, params, config)
        with pytest.raises(ValueError):  # noqa: PT011
            run(saved, {**params, "scale": np.zeros(2)}, config)
        agree(run(saved, params, config).params, state.params)
        filed = {key: np.array(value) for key, value in saved.items()} | {"z/norm/0": np.array([3, 0, -2])}
        found = run(filed, params, config)
        assert [type(getattr(found.counters, name)) for name in ("step", "largest", "total")] == [int, float, float]
        agree(found.other, {**state.other, "norm": (np.array([3.0, 0.0, -2.0]), state.other["norm"][1])})


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
