import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workbench.hostile import NAMES
from tests.workbench.playground.scenes import as_arrays

from separatrix import LinearSVC
from separatrix.data import catalogue
from separatrix.data.formats.layout import INVISIBLE
from separatrix.errors import DataError, ParameterError, SeparatrixError
from separatrix.workbench.playground.bundled_data import BUNDLED
from separatrix.workbench.playground.generators import GENERATORS, generate_points
from separatrix.workbench.playground.points import from_csv


@pytest.mark.parametrize("key", GENERATORS)
def test_a_generator_gives_the_number_of_points_and_classes(playground, key):
    answer = playground.points(generator=key, n=61, noise=0.1, seed=5)

    assert len(answer["points"]) == 61
    X, y = as_arrays(answer["points"])
    assert sorted(set(y.tolist())) == list("abcdefgh"[: GENERATORS[key].classes])
    x0, x1, y0, y1 = answer["window"]
    assert (([x0, y0] < X) & ([x1, y1] > X)).all()
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("key", GENERATORS)
def test_a_seed_gives_the_same_points_and_another_seed_others(key):
    made = [generate_points(key, n=50, noise=0.2, seed=seed) for seed in (1, 1, 2)]

    assert made[0] == made[1]
    assert made[0] != made[2]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_called_separable_is_separable(seed):
    X, y = as_arrays(generate_points("separable", n=200, noise=1.0, seed=seed))

    assert LinearSVC(C=1000.0).fit(X, y).score(X, y) == 1.0


def test_gaussians_that_spread_alike_have_one_covariance():
    X, y = as_arrays(generate_points("gaussians", n=2000, noise=0.4, seed=0))

    for label in "ab":
        np.testing.assert_allclose(np.cov(X[y == label].T), [[1, 0.6], [0.6, 1]], atol=0.12)


def test_an_unknown_generator_is_refused():
    with pytest.raises(ParameterError, match="`generator` of Playground must be one of moons"):
        generate_points("magic", n=50, noise=0.2, seed=0)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_data_set_is_shown_by_two_of_its_columns(playground, name):
    columns = list(BUNDLED[name].columns[:2])

    answer = playground.points(data=name, columns=columns)

    data = catalogue.load(name)
    assert BUNDLED[name].columns == (data.features or BUNDLED["digits"].columns)
    X, y = as_arrays(answer["points"])
    np.testing.assert_array_equal(X, data.X[:, :2])
    same = y[:, None] == y
    np.testing.assert_array_equal(same, data.y[:, None] == data.y)
    assert answer["names"] == columns


def test_every_data_set_is_first_shown_by_columns_that_it_has(playground):
    for name in BUNDLED:
        assert playground.points(data=name)["names"] == list(BUNDLED[name].first)


@pytest.mark.parametrize("columns", [["petal length (cm)"], ["a", "b"], ["a"] * 3])
def test_columns_that_a_data_set_lacks_are_refused(playground, columns):
    with pytest.raises(ParameterError, match="`columns` of Playground must be two of sepal"):
        playground.points(data="iris", columns=columns)


def test_a_table_is_read_as_the_library_reads_it():
    answer = from_csv("my.csv", "id;size;kind\n1;0,5\n".replace("0,5", "0.5;a") + "2;?;b\n3;2;b\n")

    assert answer["names"] == ["id", "size"]
    assert answer["points"] == [[1.0, 0.5, "a"], [3.0, 2.0, "b"]]
    assert answer["notes"] == ["1 of 3 rows had no number of a usable size and were left out"]


def test_columns_of_a_table_can_be_chosen():
    text = "a,b,c,kind,class\n1,2,3,x,0\n4,5,6,y,1\n7,8,9,y,1\n"

    answer = from_csv("t.csv", text, x="c", y="a", label="kind")

    assert answer["points"][0] == [3.0, 1.0, "x"]
    assert answer["columns"] == ["a", "b", "c", "class"]
    named_class = from_csv("t.csv", text)["points"]
    assert named_class[0] == [1.0, 2.0, "0"]


def test_texts_are_labels_before_numbers_of_which_few_are_different():
    answer = from_csv("t.csv", "kind,a,b\nx,1,2\ny,4,5\n")

    assert answer["points"] == [[1.0, 2.0, "x"], [4.0, 5.0, "y"]]


def test_numbers_of_which_few_are_different_are_labels_as_they_are_written():
    answer = from_csv("t.csv", "".join(f"{i},{i * i},{i % 2}\n" for i in range(40)))

    assert {point[2] for point in answer["points"]} == {"0", "1"}


def test_a_long_table_is_sampled_with_a_note():
    answer = from_csv("t.csv", "x,y,kind\n" + "".join(f"{i},{-i},k{i % 3}\n" for i in range(6000)))

    assert len(answer["points"]) == 5000
    assert answer["notes"] == ["5,000 of 6,000 rows are shown, chosen with seed 0"]


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("", {}, "my.csv:1: found nothing"),
        ("x,y,kind\n1,2\n", {}, "my.csv:2"),
        ('x,y,kind\n1,2,"a\n', {}, "quotes"),
        ("x,kind\n1,a\n2,b\n", {}, "1 columns of numbers, expected at least 2"),
        ("x,y,kind\n1,2,a\n2,3,b\n", {"x": "z"}, "no column 'z'; there are 'x', 'y'"),
        ("x,y,kind\n1,2,a\n2,3,b\n", {"label": "z"}, "no column 'z'"),
        ("x,y,kind\n?,2,a\n?,3,b\n", {}, "no row has two numbers and a label"),
        ("x,y,k\n" + "".join(f"{i},1,n{i}\n" for i in range(30)), {}, "30 different labels"),
        ("".join(f"{i},{i + 0.5},{i * 7}\n" for i in range(30)), {}, "no column of labels"),
    ],
)
def test_tables_without_points_are_refused_under_the_name_they_were_given(text, options, sentence):
    with pytest.raises(DataError, match=sentence) as refused:
        from_csv("my.csv", text, **options)

    assert "/tmp" not in str(refused.value)


def test_hostile_names_of_columns_come_back_but_for_what_is_invisible(playground):
    for name in NAMES:
        if set(name) & set('\r\n"') or name != name.strip() or len(name) > 100:
            continue
        answer = from_csv(name, f'"{name}",other,kind\n1,2,a\n3,4,b\n')
        seen = "".join(c for c in name if c not in INVISIBLE).replace("\u00a0", " ").strip()
        assert answer["names"] == [seen or "x1", "other"], name


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet='ab1.,;\n"\t ?-eé', max_size=60), name=st.text(max_size=10))
def test_any_text_is_points_or_a_refusal(text, name):
    try:
        answer = from_csv(name, text)
    except (SeparatrixError, ValueError) as error:
        answer = {"points": [], "said": str(error)}
    assert answer["points"] or answer["said"]
    json.dumps(answer, allow_nan=False)


def test_numbers_with_a_decimal_comma_are_read():
    rows = [
        f"{'ja' if i % 2 else 'nein'};{i + 0.25};{-i - 0.5}".replace(".", ",") for i in range(30)
    ]

    answer = from_csv("werte.csv", "\n".join(["Ergebnis;Breite;Tiefe", *rows]))

    assert answer["names"] == ["Breite", "Tiefe"]
    assert answer["label"] == "Ergebnis"
    assert answer["points"][3] == [3.25, -3.5, "ja"]
    assert any("'0,25' is 0.25" in note for note in answer["notes"])
    assert not any("--" in note for note in answer["notes"])
