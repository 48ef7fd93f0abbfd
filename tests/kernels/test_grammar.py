"""The neighbours of a kernel, counted as in the specification of the search."""

import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Constant, Linear, SquaredExponential, expand, structure
from parsimon.kernels.form import n_base, simplify

SE = SquaredExponential
a, b, c, d = (SE(column) for column in range(4))
SIX = [SE(column) for column in range(6)]


@pytest.mark.parametrize(
    ("kernel", "every", "new_column"),
    [
        (a, 12, 10),
        (a + b, 23, 16),
        (a * b, 23, 16),
        (a + b * c, 34, 18),
        (a * (b + c), 34, 18),
        (a + b + c, 46, 24),
        (a * b * c, 46, 24),
    ],
    ids=str,
)
def test_number_of_children(kernel, every, new_column):
    children = expand(kernel, SIX)
    assert len(children) == every
    depth = n_base(kernel) + 1
    assert sum(len(child.columns) >= depth for child in children) == new_column


def test_children_of_the_empty_kernel_are_the_base_kernels():
    assert expand(None, SIX) == tuple(SIX)


def test_each_place_is_tried():
    found = [str(child) for child in expand(a + b * c, [d])]
    assert found == [
        "SE_1 + SE_2 × SE_3 + SE_4",
        "SE_1 + (SE_2 + SE_4) × SE_3",
        "SE_1 + SE_2 × (SE_3 + SE_4)",
        "(SE_1 + SE_2 × SE_3) × SE_4",
        "SE_1 × SE_4 + SE_2 × SE_3",
        "SE_1 + SE_2 × SE_3 × SE_4",
    ]
    groups = [str(child) for child in expand(a + b + c, [d])]
    assert "(SE_1 + SE_2) × SE_4 + SE_3" in groups
    assert "SE_1 + (SE_2 + SE_3) × SE_4" in groups


def test_only_the_root_as_an_option():
    found = [str(child) for child in expand(a + b * c, [d], root_only=True)]
    assert found == ["SE_1 + SE_2 × SE_3 + SE_4", "(SE_1 + SE_2 × SE_3) × SE_4"]


def test_published_kernels_are_reached_from_any_part_but_not_from_the_root():
    bupa = a * c + b * d
    wisconsin = (a + b) * (c + d)
    base = [a, b, c, d]

    def third_layer(**options):
        layer = expand(None, base)
        for _ in range(3):
            layer = {
                structure(child): child
                for kernel in layer
                for child in expand(kernel, base, **options)
            }.values()
        return layer

    anywhere, at_the_root = third_layer(), third_layer(root_only=True)
    for target in (bupa, wisconsin):
        assert any(structure(kernel) == structure(target) for kernel in anywhere)
        assert not any(structure(kernel) == structure(target) for kernel in at_the_root)


def test_children_are_simple_different_and_in_one_order():
    base = [a, Linear(1), Constant()]
    children = expand(a * (b + Linear(0)), base)
    assert children == expand(a * (b + Linear(0)), base)
    assert len({structure(child) for child in children}) == len(children)
    for child in children:
        assert structure(simplify(child)) == structure(child)


def test_a_child_keeps_the_hyperparameters_of_its_parent():
    parent = SE(0, 3.0, 7.0) * SE(1, 5.0)
    child = next(kernel for kernel in expand(parent, [SE(2, 9.0)]) if n_base(kernel) == 3)
    assert [term.numbers("lengthscale") for term in child.terms[0].terms] == [(3.0,), (5.0,)]
    assert child.terms[0].terms[0].variance == 7.0
    assert child.terms[1].lengthscale == 9.0


def test_the_first_way_to_a_child_gives_its_hyperparameters():
    parent = SE(0, 3.0) + SE(1, 3.0)
    children = expand(parent, [SE(0, 4.0), SE(1, 4.0)])
    same = next(child for child in children if structure(child) == structure(parent))
    assert [term.lengthscale for term in same.terms] == [pytest.approx(12 / 5), 3.0]


def test_variances_of_children():
    tied, each = (expand(a, [b], tie_variances=tie)[1] for tie in (True, False))
    assert (tied.n_theta, each.n_theta) == (3, 4)


def test_no_base_kernel():
    with pytest.raises(InvalidInputError, match="expand needs one base kernel or more"):
        expand(a, [])
