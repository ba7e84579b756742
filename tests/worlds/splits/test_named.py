import pytest

from unknot.errors import UnknotError
from unknot.worlds.published.dsprites import CONVENTIONS, SPACE
from unknot.worlds.splits.combinations import combination_name, combination_split, parse_combination
from unknot.worlds.splits.named import canonical_split, named_split, own_name
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import split


@pytest.mark.parametrize("kind", ["random", "composition", "interpolation", "extrapolation"])
def test_a_kind_alone_is_the_published_split(kind):
    assert named_split(kind, SPACE, CONVENTIONS.rule) == split(SPACE, kind, rule="dsprites")


def test_where_nothing_is_published_a_fifth_is_held_back():
    assert named_split("interpolation", SPACE) == split(SPACE, "interpolation", rule=Rule(0.2))


def test_a_combination_is_everything_but_its_images():
    named = named_split("combination:shape=0, scale=0", SPACE)
    assert named == combination_split(SPACE, {"scale": 0, "shape": 0})
    assert named.contains([[0, 0, 1, 2, 3], [0, 1, 1, 2, 3], [1, 0, 1, 2, 3]]).tolist() == [False, True, True]


def test_names_are_read_back_and_have_one_spelling():
    for held_out in ({"scale": (0,), "shape": (2,)}, {"x": (1, 4), "shape": (0, 2)}):
        assert parse_combination(combination_name(held_out)) == {k: held_out[k] for k in sorted(held_out)}
    spellings = [
        "combination:shape=2,scale=0+3",
        "combination: scale = 3+0 , shape=2",
        "combination:scale=0+3,shape=2",
    ]
    assert {canonical_split(text) for text in spellings} == {"combination:scale=0+3,shape=2"}


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("combination", "which one.*combination:scale=0,shape=0"),
        ("combination:", "which one"),
        ("combination:scale=0", "two factors or more; got scale"),
        ("combination:scale=0,shpe=0", "unknown factor 'shpe'; did you mean 'shape'"),
        ("combination:scale=6,shape=0", "no image has the combination scale=6, shape=0; 'scale' has classes 0..5"),
        ("combination:scale=0,shape", "'shape' is not a factor and its class"),
        ("combination:scale=0,shape=-1", "'shape=-1' is not a factor and its class"),
        ("combination:scale=0,scale=1", "names 'scale' twice"),
        ("combination:scale=0+1+2+3+4+5,shape=0", "needs two factors"),
        ("combinaton:scale=0,shape=0", "did you mean 'combination'"),
        ("random:scale=0", "a random split has no classes of its own; write 'random'"),
        ("extrapolation:x=7..5", "'x=7..5' is not a factor and its class"),
        ("extrapolation:x=32", "'x' has no class 32; its classes are 0..31"),
    ],
)
def test_mistakes_are_named(name, complaint):
    with pytest.raises(UnknotError, match=complaint):
        named_split(name, SPACE)


def test_classes_of_ones_own_make_a_split_with_one_spelling():
    named = named_split("extrapolation:x=25..31,scale=5", SPACE)
    assert named == split(SPACE, "extrapolation", exclusive={"x": range(25, 32), "scale": 5})
    spellings = [
        "extrapolation:x=25..31,scale=5",
        "extrapolation: scale=5, x=31+25..30",
        "extrapolation:scale=5,x=25..31",
    ]
    assert {canonical_split(text) for text in spellings} == {"extrapolation:scale=5,x=25..31"}
    assert named_split(own_name(named.kind, dict(named.exclusive)), SPACE) == named
