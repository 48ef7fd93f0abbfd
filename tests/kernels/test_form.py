"""Canonical forms keep the Gram matrix and forget order, grouping and, for structures, numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.kernels import (
    Constant,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Product,
    SquaredExponential,
    Sum,
    canonical,
    structure,
)
from parsimon.kernels.combination import Combination
from parsimon.kernels.form import n_base, simplify, sum_of_products
from tests.kernels.examples import LEAVES, X, combinations_of

SE = SquaredExponential
# Few leaves, so that equal ones meet.
few = [
    SE(0, 0.7, 2.0),
    SE(0, 1.3),
    SE(1, 0.9),
    SE((0, 1), (0.9, 0.8)),
    SE((0, 1), 1.1),
    SE(1, 1.4, 3.0, fixed="variance"),
    Constant(1.5),
    Constant(0.5, fixed="variance"),
    Periodic(0, 2.0),
    Periodic(0, 2.0, variance=3.0),
    Linear(2),
]
kernels = st.one_of(combinations_of(few), combinations_of(LEAVES))


@st.composite
def literal(draw):
    """Draw an expression by the constructors, which neither flatten nor tie."""
    return draw(
        st.recursive(
            st.sampled_from(few),
            lambda inner: st.tuples(
                st.sampled_from([Sum, Product]), st.lists(inner, min_size=2, max_size=3)
            ).map(lambda pair: pair[0](tuple(pair[1]))),
            max_leaves=6,
        )
    )


def assert_same_gram(left, right):
    exact = left.gram(X)
    size = np.abs(exact).max()
    np.testing.assert_allclose(right.gram(X), exact, rtol=1e-8, atol=1e-11 * size)


def shuffled(kernel, order):
    if not isinstance(kernel, Combination):
        return kernel
    terms = [shuffled(term, order) for term in kernel.terms]
    order.shuffle(terms)
    return type(kernel)(tuple(terms))


@given(st.one_of(literal(), kernels), st.booleans())
def test_forms_keep_the_gram_matrix(kernel, tie):
    assert_same_gram(kernel, canonical(kernel, tie_variances=tie))
    assert_same_gram(kernel, simplify(kernel, tie_variances=tie))


@given(st.one_of(literal(), kernels))
def test_summands_add_up(kernel):
    summands = sum_of_products(kernel)
    total = sum(summand.gram(X) for summand in summands)
    exact = kernel.gram(X)
    np.testing.assert_allclose(total, exact, rtol=1e-8, atol=1e-11 * np.abs(exact).max())
    for summand in summands:
        factors = summand.terms if isinstance(summand, Product) else (summand,)
        assert not any(isinstance(factor, Combination) for factor in factors)


@given(st.one_of(literal(), kernels), st.randoms(use_true_random=False))
def test_order_and_grouping_do_not_matter(kernel, order):
    other = shuffled(kernel, order)
    assert structure(other) == structure(kernel)
    assert hash(structure(other)) == hash(structure(kernel))
    assert structure(simplify(other)) == structure(simplify(kernel))
    assert str(canonical(other)) == str(canonical(kernel))


@given(literal())
def test_a_form_of_a_form_is_the_same(kernel):
    for form in (canonical, simplify):
        once = form(kernel)
        assert structure(form(once)) == structure(once)
        assert str(form(once)) == str(once)
        np.testing.assert_allclose(form(once).theta, once.theta, atol=1e-9)


@given(kernels)
def test_structure_does_not_see_numbers(kernel):
    assert structure(kernel.with_theta(kernel.theta + 0.7)) == structure(kernel)


def test_structures_that_differ():
    different = [
        SE(0),
        SE(1),
        SE(),
        SE((0, 1)),
        SE((0, 1), (1.0, 1.0)),
        Laplacian(0),
        Matern(0, nu=0.5),
        Matern(0, nu=1.5),
        Polynomial(0, degree=2),
        Polynomial(0, degree=3),
        SE(0) + SE(1),
        SE(0) * SE(1),
        SE(0) + SE(0),
        SE(0) * (SE(1) + SE(2)),
        SE(0) * SE(1) + SE(2),
    ]
    assert len({structure(kernel) for kernel in different}) == len(different)


def test_operands_are_sorted_by_column():
    kernel = SE(10) + SE(9) * SE(3) + SE(2) + Constant() + SE(2) * SE(0)
    assert str(canonical(kernel)) == "C + SE_1 × SE_3 + SE_3 + SE_4 × SE_10 + SE_11"
    assert str(canonical((SE(4) + SE(3)) * (SE(2) + SE(1)))) == "(SE_2 + SE_3) × (SE_4 + SE_5)"


def test_equal_operands_are_sorted_by_their_numbers():
    a, b = SE(0, 1.0, 5.0), SE(0, 2.0, 3.0)
    assert canonical(a + b) == canonical(b + a)
    p, q = Periodic(0, 1.0, variance=5.0), Periodic(0, 2.0, variance=3.0)
    assert canonical(p * q) == canonical(q * p)
    assert canonical(canonical(q * p)) == canonical(p * q)
    rising = SE(0, variance=1.0) + SE(1, variance=2.0)
    falling = SE(0, variance=4.0) + SE(1, variance=1.0)
    product = canonical(rising * falling)
    assert product == canonical(falling * rising) == canonical(product)


def test_variances_are_tied_unless_told_otherwise():
    kernel = Product((SE(1, variance=3.0), SE(0, variance=2.0)))
    assert [term.variance for term in canonical(kernel).terms] == [6.0, 1.0]
    each = canonical(kernel, tie_variances=False)
    assert [term.variance for term in each.terms] == [2.0, 3.0]
    assert (canonical(kernel).n_theta, each.n_theta) == (3, 4)
    assert (simplify(kernel).n_theta, simplify(kernel, tie_variances=False).n_theta) == (3, 4)


def test_squared_exponentials_multiply():
    merged = simplify(SE(0, 3.0, 2.0) * SE(0, 4.0, 5.0))
    assert merged == SE(0, merged.lengthscale, 10.0)
    assert merged.lengthscale == pytest.approx(12 / 5)
    each = simplify(SE((0, 1), (3.0, 1.0)) * SE((0, 1), 4.0))
    assert each.lengthscale == pytest.approx((12 / 5, 4 / 17**0.5))
    assert str(simplify(SE(0) * SE(1) * SE(0))) == "SE_1 × SE_2"
    assert str(simplify(SE(0) + SE(0))) == "SE_1 + SE_1"
    assert str(simplify(SE(0) * SE((0, 1)))) == "SE_1 × SE_1,2"


def test_constants_go_where_they_can():
    assert simplify(Constant(2.0) + Constant(3.0)) == Constant(5.0)
    assert simplify(Constant(2.0) * Constant(3.0)) == Constant(6.0)
    assert simplify(Constant(2.0) * SE(0, variance=3.0)) == SE(0, variance=6.0)
    spread = simplify(Constant(2.0) * (SE(1, variance=3.0) + SE(0)))
    assert spread == SE(0, variance=2.0) + SE(1, variance=6.0)
    assert str(simplify(SE(0) * (Constant() + SE(1)))) == "SE_1 × (C + SE_2)"
    nested = simplify(SE(0) + Constant(2.0) * (SE(1) + Constant(3.0)) + Constant(1.0))
    assert nested == Constant(7.0) + SE(0) + SE(1, variance=2.0)


def test_what_is_merged_is_fixed_only_if_all_was():
    held = {"fixed": ("lengthscale", "variance")}
    assert simplify(Product((SE(0, **held), SE(0, **held)))).fixed == ("lengthscale", "variance")
    assert simplify(Product((SE(0, **held), SE(0)))).fixed == ()
    free, fixed = Constant(2.0), Constant(2.0, fixed="variance")
    assert simplify(Product((fixed, SE(0, fixed="variance")))).fixed == ("variance",)
    assert simplify(Product((free, SE(0, fixed="variance")))).fixed == ()
    assert simplify(fixed + free).fixed == ()
    assert simplify(fixed + fixed).fixed == ("variance",)


def test_multiplying_out():
    kernel = (SE(0, variance=2.0) + SE(1, variance=3.0)) * (SE(2, variance=5.0) + SE(0))
    summands = sum_of_products(kernel)
    assert [str(summand) for summand in summands] == [
        "SE_1",
        "SE_1 × SE_2",
        "SE_1 × SE_3",
        "SE_2 × SE_3",
    ]
    heights = [summand.diagonal(X)[0] for summand in summands]
    assert heights == pytest.approx([2, 3, 10, 15])
    assert sum_of_products(SE(0)) == (SE(0),)


def test_leaves_are_counted():
    assert n_base(SE(0) * (SE(1) + SE(2)) + Constant()) == 4
