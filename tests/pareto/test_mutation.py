import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.space import Bits, Box, Integers
from parsimon.pareto.variation import (
    BitFlip,
    GaussianMutation,
    HybridMutation,
    IntegerReset,
    OneFifthRule,
    PolynomialMutation,
    StepSize,
    SwitchMutation,
    default_mutation,
    mutate,
)

UNIT = Box(0, 1, n_variables=20)


def inside(n, rng):
    return 0.1 + 0.8 * rng.random((n, 20))


@pytest.mark.parametrize(
    ("kind", "space"),
    [
        (PolynomialMutation, UNIT),
        (GaussianMutation, UNIT),
        (SwitchMutation, UNIT),
        (HybridMutation, UNIT),
        (BitFlip, Bits(20)),
    ],
)
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3, 1.0])
def test_each_variable_changes_with_the_given_rate(kind, space, rate, rng):
    parents = inside(4000, rng) if space is UNIT else space.sample(4000, rng)
    parents.flags.writeable = False
    changed = kind(rate=rate)(parents, space, rng) != parents
    error = 5 * np.sqrt(rate * (1 - rate) / changed.size) + 1e-12
    assert changed.mean() == pytest.approx(rate, abs=error)
    # Every column alike, and rows as different from one another as independent choices are.
    column_error = 5 * np.sqrt(rate * (1 - rate) / len(parents)) + 1e-12
    np.testing.assert_allclose(changed.mean(axis=0), rate, atol=column_error)
    spread = 20 * rate * (1 - rate)
    assert changed.sum(axis=1).var() == pytest.approx(spread, rel=0.15, abs=1e-9)


@pytest.mark.parametrize("kind", [PolynomialMutation, SwitchMutation, HybridMutation])
def test_one_variable_in_n_changes_unless_told_otherwise(kind, rng):
    parents = inside(5000, rng)
    changed = kind()(parents, UNIT, rng) != parents
    assert changed.mean() == pytest.approx(1 / 20, abs=0.004)


def test_bit_flips_change_one_bit_in_n(rng):
    flipped = BitFlip()(np.zeros((5000, 20), dtype=bool), Bits(20), rng)
    assert flipped.mean() == pytest.approx(1 / 20, abs=0.004)


@pytest.mark.parametrize("place", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("eta", [3.0, 20.0])
def test_polynomial_steps_have_the_published_quantiles(place, eta, rng):
    box = Box(10, 30, n_variables=1)
    parents = np.full((200_000, 1), 10 + 20 * place)
    steps = (PolynomialMutation(eta=eta, rate=1)(parents, box, rng) - parents)[:, 0] / 20
    for u in (0.05, 0.2, 0.4, 0.6, 0.8, 0.95):
        # Deb and Agrawal (1999): the perturbation as a function of a uniform number.
        if u < 0.5:
            step = (2 * u + (1 - 2 * u) * (1 - place) ** (eta + 1)) ** (1 / (eta + 1)) - 1
        else:
            step = 1 - (2 * (1 - u) + (2 * u - 1) * place ** (eta + 1)) ** (1 / (eta + 1))
        assert np.mean(steps <= step) == pytest.approx(u, abs=0.006)


@given(
    place=st.floats(0, 1),
    eta=st.floats(0, 100),
    seed=st.integers(0, 2**32),
    lower=st.floats(-1e6, 1e6),
    width=st.floats(0, 1e6),
)
def test_polynomial_mutation_stays_inside_the_bounds(place, eta, seed, lower, width):
    box = Box([lower], [lower + width])
    parents = box.repair(np.full((50, 1), lower + place * width))
    children = PolynomialMutation(eta=eta, rate=1)(parents, box, np.random.default_rng(seed))
    slack = 1e-9 * (abs(lower) + width + 1)
    assert np.isfinite(children).all()
    assert (children >= box.lower - slack).all()
    assert (children <= box.upper + slack).all()


def test_gaussian_steps_have_the_share_of_the_box_as_deviation(rng):
    box = Box([0, -100], [1, 100])
    steps = GaussianMutation(scale=0.1)(np.zeros((50_000, 2)), box, rng)
    np.testing.assert_allclose(steps.std(axis=0), [0.1, 20], rtol=0.02)
    np.testing.assert_allclose(steps.mean(axis=0) / [0.1, 20], 0, atol=0.02)


def test_gaussian_scale_is_absolute_without_bounds(rng):
    steps = GaussianMutation(scale=3.0)(np.zeros((50_000, 1)), Box([-np.inf], [np.inf]), rng)
    assert steps.std() == pytest.approx(3.0, rel=0.02)


def test_a_step_size_multiplies_the_gaussian_scale(rng):
    mutation = GaussianMutation(scale=0.01, adapt=OneFifthRule())
    box = Box(-10, 10, n_variables=1)
    children = mutate(np.zeros((50_000, 1)), mutation, StepSize(factor=4.0), box, rng)
    assert children.std() == pytest.approx(0.8, rel=0.02)
    assert mutation.scale == 0.01


def test_switching_goes_from_above_the_bound_to_it_and_from_it_to_the_top():
    box = Box(2, 5, n_variables=3)
    children = SwitchMutation(rate=1)(np.array([[2.0, 3.0, 5.0]]), box, np.random.default_rng(0))
    np.testing.assert_array_equal(children, [[5, 2, 2]])


def test_hybrid_mutation_switches_off_and_draws_uniformly_on(rng):
    box = Box(2, 5, n_variables=2)
    children = HybridMutation(rate=1)(np.tile([2.0, 4.0], (20_000, 1)), box, rng)
    np.testing.assert_array_equal(children[:, 1], 2)
    np.testing.assert_allclose(
        np.quantile(children[:, 0], [0.1, 0.5, 0.9]), [2.3, 3.5, 4.7], atol=0.05
    )


def test_integers_are_reset_uniformly_within_their_bounds(rng):
    space = Integers([-1, 2], [3, 2])
    children = IntegerReset(rate=1)(np.full((20_000, 2), [0, 2]), space, rng)
    counts = np.bincount(children[:, 0] + 1, minlength=5)
    np.testing.assert_allclose(counts / 20_000, 0.2, atol=0.02)
    assert (children[:, 1] == 2).all()


def test_integers_are_reset_to_at_most_one_new_label(rng):
    space = Integers(-1, 9, n_variables=3)
    parents = np.tile([-1, 0, 2], (20_000, 1))
    children = IntegerReset(rate=1, within="used")(parents, space, rng)
    counts = np.bincount(children.ravel() + 1, minlength=11)
    np.testing.assert_allclose(counts[:5] / children.size, 0.2, atol=0.02)
    assert counts[5:].sum() == 0


def test_labels_in_use_never_pass_the_upper_bound(rng):
    space = Integers(-1, 2, n_variables=3)
    children = IntegerReset(rate=1, within="used")(np.full((500, 3), 2), space, rng)
    assert children.max() == 2


@pytest.mark.parametrize(
    ("space", "gaussian", "kind"),
    [
        (UNIT, False, PolynomialMutation),
        (UNIT, True, GaussianMutation),
        (Bits(3), False, BitFlip),
        (Integers(0, 2, n_variables=3), True, IntegerReset),
    ],
)
def test_the_default_suits_the_space(space, gaussian, kind):
    assert isinstance(default_mutation(space, gaussian=gaussian), kind)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BitFlip(rate=1.5), "rate must be between 0 and 1"),
        (lambda: GaussianMutation(scale=0), "scale must be a positive number"),
        (lambda: GaussianMutation(rate=-1), "rate must be between 0 and 1"),
        (lambda: PolynomialMutation(eta=-1), "eta must be zero or a positive number"),
        (lambda: IntegerReset(within="all"), 'within must be "bounds" or "used"'),
    ],
)
def test_impossible_options_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(
    ("mutation", "space", "message"),
    [
        (BitFlip(), UNIT, "BitFlip needs a space of Bits"),
        (IntegerReset(), Bits(20), "IntegerReset needs a space of Integers"),
        (GaussianMutation(), Bits(20), "GaussianMutation needs a Box"),
        (PolynomialMutation(), Bits(20), "PolynomialMutation needs a Box"),
        (PolynomialMutation(), Box(0, np.inf, n_variables=20), "needs finite bounds"),
        (lambda parents, *_: parents[:1], UNIT, r"shape \(2, 20\) became \(1, 20\)"),
    ],
)
def test_a_mutation_that_does_not_fit_the_space_is_refused(mutation, space, message, rng):
    with pytest.raises(InvalidInputError, match=message):
        mutate(np.zeros((2, 20), dtype=space.dtype), mutation, StepSize(), space, rng)
