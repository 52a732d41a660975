from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris, make_blobs
from sklearn.inspection import permutation_importance as sklearn_importance
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from tests.browser import Browser

from separatrix import (
    SVC,
    GaussianNB,
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    TableEncoder,
)
from separatrix.data.catalogue import load
from separatrix.data.dataset import Dataset
from separatrix.data.read_table import read_table
from separatrix.data.splits import subsampled
from separatrix.errors import DataError
from separatrix.evaluation.compare import compare
from separatrix.evaluation.importance import permutation_importance
from separatrix.evaluation.suite import suite
from separatrix.experiments.outcome import comparison_of, grids
from separatrix.experiments.plan import plan
from separatrix.experiments.run import run
from separatrix.experiments.spec import parse_spec
from separatrix.report.closer_look import inspect_best
from separatrix.report.comparison_models import features_section
from separatrix.report.comparison_page import comparison_page, write_report
from separatrix.report.data_section import data_section
from separatrix.report.page import Page, Picture, Section, Table, render, write

PHONE = 375
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>alert(2)</script>",
    "</title></svg></table>",
    "{{ 7 * 7 }} {% raw %}",
    "--><b>&amp;",
    "$x^{2$ and $\\frac{$",
    "مرحبا بالعالم",
    "🌈 rainbow\u202e\x00\x1b\ud800",
    "x" * 500,
    "line\nbreak\ttab",
)


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


def a_figure(words: str = "a title"):
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [1, 0], color="#333333", label="curve")
    left.set_title(words)
    left.legend()
    right.imshow(np.eye(3), cmap="gray")
    right.text(1, 1, "on the image", color="#333333")
    return figure


def a_page(**more):
    numbers = Table(
        ["name", "share", "count"],
        [["first", 0.123456, 12], ["second", None, 3], ["third", float("nan"), 100000]],
        caption="three rows",
        bars=["count"],
    )
    shows = [Picture(a_figure(), "a curve and an image", numbers), numbers]
    sections = [Section("One", ["a paragraph"], shows), Section("Two", [], [numbers])]
    return Page("A title", ["The answer.", "And more."], sections, **more)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    return Dataset("iris", X[:, 2:], names[y], features=("petal length", "petal width"))


MODELS = {
    "neighbours": KNeighborsClassifier(3),
    "discriminant": LinearDiscriminantAnalysis(),
    "machine": SVC(C=10.0),
    "naive Bayes": GaussianNB(),
}


@pytest.fixture(scope="module")
def compared(iris):
    return compare(MODELS, iris.X, iris.y, repeats=5)


@pytest.fixture(scope="module")
def whole(compared, iris):
    return comparison_page(
        compared,
        data=iris,
        command="separatrix compare iris",
        **inspect_best(compared, MODELS, iris),
    )


# ---- the page -------------------------------------------------------------------------------


def test_the_same_page_gives_the_same_bytes():
    assert render(a_page()) == render(a_page())


@pytest.mark.slow
def test_a_page_that_was_rendered_before_gives_the_same_bytes(whole):
    assert render(whole) == render(whole)


def test_a_figure_is_left_as_it_was():
    figure = a_figure()
    before = [axes.patch.get_visible() for axes in figure.axes]

    render(Page("t", ["s"], [Section("x", [], [Picture(figure, "s", Table(["a"], [[1]]))])]))

    assert [axes.patch.get_visible() for axes in figure.axes] == before
    assert figure.patch.get_visible()
    assert {artist.get_gid() for artist in figure.findobj()} == {None}


def test_nothing_in_the_page_can_be_loaded_or_run():
    html = render(a_page(command="separatrix run x", python="import separatrix"))

    assert not re.search(r"<(script|link|iframe|object|embed|base|form)\b", html)
    assert not re.search(r"\bon\w+\s*=", html)
    links = re.findall(r"(?:href|src|url)\s*[=(]\s*[\"']?([^\"')\s>]*)", html)
    assert links
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert "@import" not in html
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in html


@pytest.mark.slow
def test_ids_are_unique_and_every_reference_has_its_id():
    sections = [
        Section("s", [], [Picture(a_figure(), "one", Table(["a"], [[number]]))])
        for number in range(3)
    ]
    html = render(Page("t", ["s"], sections))

    ids = re.findall(r'\sid="([^"]*)"', html)
    used = re.findall(r'(?:url\(#|href="#)([^")]*)', html)
    assert len(ids) == len(set(ids))
    assert set(used) <= set(ids)
    assert any(one.startswith("p2-") for one in used)


def test_ink_takes_the_colour_of_the_page_but_not_on_an_image():
    html = render(a_page())

    on_image = re.search(r'<g fill="#000"><text[^>]*>on the image', html)
    assert on_image is not None
    assert "#333333" in on_image[0]
    assert "currentColor" not in on_image[0]
    curve = re.search(
        r'<path d="M [\d. ]+L [\d. ]+"[^>]*stroke: currentColor; stroke-width: 1.5', html
    )
    assert curve is not None


def test_a_hostile_name_is_shown_and_nothing_else():
    for name in HOSTILE:
        sections = [Section(name, [name], [Table([name], [[name]], caption=name)])]

        html = render(Page(name, [name], sections, command=name, python=name, facts={name: name}))

        assert "<script" not in html
        assert "<img" not in html
        assert "<b>" not in html
        assert html.count("</style>") == html.count("</title>") == 1
        assert html.encode("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_in_a_figure_is_text(name):
    shows = [Picture(a_figure(name), "s", Table(["a"], [[1]]))]

    html = render(Page("t", ["s"], [Section("s", [], shows)]))

    assert "<script" not in html
    assert "<img" not in html
    assert html.count("</svg>") == 1


def test_a_row_that_is_too_short_is_refused():
    with pytest.raises(DataError, match=r"2 columns.*row 1 has 1"):
        Table(["a", "b"], [[1, 2], [3]])


def test_a_page_is_written_whole(tmp_path):
    path = write(a_page(), tmp_path / "page.html")

    assert path.read_text(encoding="utf-8") == render(a_page())
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


CURVES = ("ROC and precision-recall", "Precision and recall")


# ---- the page of a comparison ---------------------------------------------------------------


def tables_of(page):
    for section in page.sections:
        for one in section.shows:
            yield section.title, one.table if isinstance(one, Picture) else one


@pytest.mark.slow
def test_a_comparison_has_its_sections_and_no_empty_ones(whole):
    titles = [section.title for section in whole.sections]

    assert titles == [
        "Leaderboard",
        "Data",
        "Confusions",
        "Hardest rows",
        "Learning curve",
        "Which columns matter",
        "Calibration",
        *CURVES,
        "Regions",
        "Features",
        "Times",
    ]
    assert all(section.shows for section in whole.sections)


def test_without_data_and_models_the_page_leaves_out_what_needs_them(compared):
    titles = [section.title for section in comparison_page(compared).sections]

    assert titles == ["Leaderboard", "Confusions", "Hardest rows", "Calibration", *CURVES, "Times"]


def test_a_brief_page_has_the_answer_and_says_what_it_leaves_out(compared):
    page = comparison_page(compared, brief=True)

    assert [section.title for section in page.sections] == ["Leaderboard", "Confusions"]
    assert "a longer --budget adds which columns matter" in page.summary[-1]


def test_the_leaderboard_is_the_table_of_the_comparison(compared, whole):
    table = whole.sections[0].shows[1]

    assert [row[0] for row in table.rows] == [row["model"] for row in compared.rows()]
    shown = [row[table.columns.index("test error %")] for row in table.rows]
    assert shown == [f"{row['test_error']:.2f}" for row in compared.rows()]


def test_the_summary_names_the_best_and_its_error(compared, whole):
    best = compared.rows()[0]

    name = best["model"][0].upper() + best["model"][1:]
    assert whole.summary[0].startswith(f"{name} is best: {best['test_error']:.2f} %")


def test_the_summary_has_the_error_of_a_guess_and_doubts_about_the_data(compared):
    summary = comparison_page(compared, doubts=["two", "of", "three"]).summary
    counts = np.unique(compared.evaluations[compared.best].y, return_counts=True)[1]
    guess = 100 * (1 - counts.max() / counts.sum())
    assert f", against {guess:.1f} % of always predicting " in summary[0]
    assert [words for words in summary if words.startswith("Careful")] == [
        "Careful: two.",
        "Careful: of.",
    ]


def test_a_classifier_is_told_from_the_best_only_where_the_test_does():
    X, y = make_blobs(300, centers=[[0, 0], [3, 3]], random_state=0)
    rng = np.random.default_rng(0)
    twins = {"one": GaussianNB(), "same": GaussianNB(), "blind": _Blind(rng)}

    page = comparison_page(compare(twins, X, y, repeats=10))

    assert "not significantly better than same." in page.summary[1]
    assert "significantly better than blind" in page.summary[2]


class _Blind(GaussianNB):
    """Says the first class, whatever it sees."""

    def __init__(self, rng=None):
        self.rng = rng
        super().__init__()

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_confusions_are_those_of_the_evaluation(compared, whole):
    best = compared.evaluations[compared.best]
    mean, sd = (100 * one for one in best.confusion())
    rows = dict(tables_of(whole))["Confusions"].rows
    position = {str(label): code for code, label in enumerate(best.classes)}

    assert len(rows) == (mean > 0).sum()
    for a, b, share, spread in rows:
        assert share == f"{mean[position[a], position[b]]:.1f}"
        assert spread == f"{sd[position[a], position[b]]:.1f}"


def test_two_classes_are_counted_and_named_as_true_and_predicted():
    X, y = make_blobs(200, centers=[[0, 0], [2, 2]], random_state=0)
    found = compare({"nb": GaussianNB()}, X, y, cv=5, repeats=1)
    page = comparison_page(found, steps=["separatrix predict best.model new.csv"])
    counts = next(table for title, table in tables_of(page) if title == "Confusions")
    best = found.evaluations["nb"]
    guess = np.concatenate([best.predicted[0, s] for s in range(5)])
    true = np.concatenate([y[test] for _, test in best.splits])
    expected = confusion_matrix(true, guess)
    assert [list(row[1:3]) for row in counts.rows] == expected.tolist()
    assert counts.columns[1:3] == ["predicted class 0", "predicted class 1"]
    assert "separatrix predict best.model new.csv" in render(page)


def test_a_column_of_a_category_is_shuffled_as_one_and_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    kind, x = rng.integers(0, 3, 600), rng.normal(size=600)
    y = (kind == 1).astype(int) ^ (x > 1.5)
    X = np.column_stack([x, np.eye(3)[kind]])
    model = SVC(gamma=1.0).fit(X[:300], y[:300])
    names = ("x", "kind=a", "kind=b", "kind=c")
    found = permutation_importance([(model, np.arange(300, 600))], X, y, names)
    assert [one.column for one in found] == ["kind", "x"]
    theirs = sklearn_importance(model, X[300:], y[300:], n_repeats=20, random_state=0)
    assert found[1].rise == pytest.approx(theirs.importances_mean[0], abs=0.05)


@pytest.mark.slow
def test_columns_of_a_mixed_table_are_shuffled_and_described(tmp_path):
    rng = np.random.default_rng(0)
    kind, x = rng.integers(0, 3, 300), rng.normal(size=300)
    label = np.where((kind == 1) ^ (x > 1.5), "yes", "no")
    lines = ["id,x,kind,day,label"]
    for i in range(300):
        cells = (f"A{i}", f"{x[i]:.3f}", ["low", "high", ""][kind[i]], f"2025-01-{i % 28 + 1:02d}")
        lines.append(",".join([*cells, label[i]]))
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    data = read_table(path)
    models = {"logistic": make_pipeline(TableEncoder(), LogisticRegression())}
    compared = compare(models, data.X, data.y, cv=3, repeats=1, progress=False)
    more = inspect_best(compared, models, data)
    assert {one.column for one in more["importance"]} == {"x", "kind", "day"}
    assert more["importance"][0].column == "kind"
    with pytest.raises(DataError, match="table of mixed columns"):
        compare("lda", data.X, data.y)
    page = render(comparison_page(compared, data=data, **more))
    for words in ("id: dropped", "category", "2025-01-28", "kind=high"):
        assert words in page


def test_images_are_drawn_where_samples_are_images():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=90)
    data = Dataset("noise", rng.random((90, 20)), y, image=(4, 5))

    page = comparison_page(compare({"nb": GaussianNB()}, data.X, y, repeats=3), data=data)

    hardest = next(section for section in page.sections if section.title == "Hardest rows").shows[0]
    assert isinstance(hardest, Picture)
    assert [axes.images[0].get_array().shape for axes in hardest.figure.axes] == [(4, 5)] * 5
    row = hardest.table.rows[0][0]
    np.testing.assert_array_equal(
        hardest.figure.axes[0].images[0].get_array(), data.X[row].reshape(4, 5)
    )


def test_regions_are_those_of_the_best_classifier_by_its_name(compared, whole):
    section = next(section for section in whole.sections if section.title == "Regions")

    assert section.shows[0].figure.axes[0].get_title().startswith(f"{compared.best}: ")
    assert sum(row[1] for row in section.shows[0].table.rows) == pytest.approx(100)


def test_what_a_search_tried_is_a_curve():
    from sklearn.model_selection import GridSearchCV

    X, y = load_iris(return_X_y=True)
    models = {"logistic": GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0, 100.0]}, cv=3)}
    comparison = compare(models, X, y, repeats=3)
    fitted = {"logistic": models["logistic"].fit(X, y)}

    page = comparison_page(comparison, data=Dataset("iris", X, y), fitted=fitted)

    section = next(one for one in page.sections if one.title == "Error against the parameter")
    picture, chosen = section.shows
    errors = 100 * (1 - fitted["logistic"].cv_results_["mean_test_score"])
    assert [row[0] for row in picture.table.rows] == [0.01, 1.0, 100.0]
    assert [row[1] for row in picture.table.rows] == [f"{error:.2f}" for error in errors]
    assert chosen.rows[0][0] == "logistic"


def test_chosen_parameters_without_a_curve_are_called_so_and_rows_name_their_classes():
    X, y = load_iris(return_X_y=True)
    comparison = compare(["logistic"], X[:, :1], y, repeats=2)

    sections = {one.title: one for one in comparison_page(comparison).sections}

    assert "Chosen parameters" in sections
    assert "Error against the parameter" not in sections
    assert sections["Hardest rows"].shows[0].columns[1:3] == ["true class", "predicted class"]


def test_a_comparison_without_mistakes_has_no_confusions():
    X, y = make_blobs(60, centers=[[0, 0], [50, 50]], random_state=0)

    page = comparison_page(compare({"a": GaussianNB()}, X, y, repeats=3))

    titles = [section.title for section in page.sections]
    assert "Confusions" not in titles
    assert "Hardest rows" not in titles
    assert "0.00 % test error" in page.summary[0]


@pytest.mark.slow
def test_hostile_names_of_classes_columns_and_models_go_through_a_whole_page():
    X, y = make_blobs(330, centers=11, n_features=2, cluster_std=6.0, random_state=0)
    names = [name.replace("\x00", "").replace("\ud800", "") for name in HOSTILE]
    labels = np.array(names, dtype=object)[y].astype(str)
    models = {names[0]: GaussianNB(), names[6]: LinearDiscriminantAnalysis(), names[9]: SVC()}
    data = Dataset(names[1], X, labels, features=(names[2], names[6]))
    comparison = compare(models, X, labels, repeats=2)

    html = render(comparison_page(comparison, data=data, **inspect_best(comparison, models, data)))

    assert "<script" not in html
    assert "<img" not in html
    assert "Regions" in html


@pytest.mark.slow
def test_hostile_names_go_through_the_picture_of_a_grid(tmp_path):
    models = [
        {"name": name, "type": "GaussianNB", "grid": {"var_smoothing": [1e-9, 0.1]}}
        for name in HOSTILE
        if "\ud800" not in name  # which TOML cannot hold
    ]
    made = plan(parse_spec({"data": "iris", "model": models, "split": {"repeats": 1}}, "a"), load)
    html = render(Page("Grids", [], [grids(run(made.experiment, tmp_path, progress=False))]))
    assert html.count("<svg") == len(models)


def test_of_a_large_grid_there_is_only_the_table(tmp_path):
    values = np.geomspace(1e-9, 1, 100).tolist()
    model = {"type": "GaussianNB", "grid": {"var_smoothing": values}}
    document = {"data": "iris", "model": [model], "split": {"repeats": 1}, "tune_folds": 2}
    made = plan(parse_spec(document, "a"), load)
    (shown,) = grids(run(made.experiment, tmp_path, progress=False)).shows
    assert isinstance(shown, Table)
    assert len(shown.rows) == 100


def test_how_to_run_it_again_in_python_gives_the_same_and_is_left_out_where_it_would_not():
    iris = load("iris")
    models = suite(iris.X, iris.y, models=["lda"], folds=2, random_state=3)
    how = {"test_size": 0.4, "repeats": 2, "random_state": 3, "folds": 2}
    found = compare(models, iris.X, iris.y, **how)
    said = comparison_page(found, data=iris).python
    names = {}
    exec(said.replace("print(", "again = (", 1), names)
    assert names["again"].evaluations.keys() == found.evaluations.keys()
    name = found.best
    again = names["again"].evaluations[name]
    assert again.test_error.tolist() == found.evaluations[name].test_error.tolist()
    assert len(again.splits[0].test) == 60
    for other in (replace(iris, name="my.csv"), subsampled(iris, 90, seed=0)):
        found = compare(models, other.X, other.y, **how)
        assert comparison_page(found, data=other).python == ""


def test_the_hardest_rows_of_a_given_test_part_are_shown(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    data = Dataset("halves", X[:40], y[:40], X[40:], y[40:])
    document = {"data": "halves", "model": [{"type": "GaussianNB"}], "split": {"method": "given"}}
    made = plan(parse_spec(document, "a"), lambda _: data)
    found = comparison_of(made, run(made.experiment, tmp_path, progress=False))
    page = comparison_page(found, data=data)
    (table,) = next(one for one in page.sections if one.title == "Hardest rows").shows
    assert all(row[0] >= 40 and row[4:] == X[row[0]].tolist() for row in table.rows)


def test_all_points_of_a_learning_curve_are_means_over_the_same_splits(compared, iris):
    sizes = inspect_best(compared, MODELS, iris)["sizes"]
    assert {found.test_error.shape for found in sizes.values()} == {(1, 3)}


# ---- in the browser -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file_of_whole(whole, tmp_path_factory):
    return write(whole, tmp_path_factory.mktemp("page") / "report.html")


def test_the_browser_shows_what_the_tables_say(browser, compared, whole, file_of_whole):
    page = browser.open(file_of_whole)

    seen = page.evaluate(
        "[...document.querySelectorAll('table')].map(t => [...t.querySelectorAll('tr')]"
        ".map(r => [...r.children].map(c => c.textContent)))"
    )
    tables = [table for _, table in tables_of(whole)]
    assert len(seen) == len(tables)
    for (head, *rows), table in zip(seen, tables, strict=True):
        assert head == [str(name) for name in table.columns]
        assert len(rows) == len(table.rows)
        for line, row in zip(rows, table.rows, strict=True):
            for text, value in zip(line, row, strict=True):
                _assert_says(text, value)
    leaders = [row[0] for row in seen[1][1:]]
    assert leaders == [row["model"] for row in compared.rows()]


def _assert_says(text, value):
    if value is None or (isinstance(value, float) and np.isnan(value)):
        assert text == "–"
    elif isinstance(value, str):
        assert text == value
    elif np.isinf(value):
        assert text == "∞"
    else:
        assert float(text) == pytest.approx(float(value), rel=6e-4)


def test_the_browser_complains_of_nothing_and_asks_for_nothing(browser, file_of_whole):
    page = browser.open(file_of_whole)

    assert page.complaints == []
    assert page.requests == [file_of_whole.as_uri()]


def test_the_policy_stops_a_script_and_an_image_from_elsewhere(browser, tmp_path):
    html = render(a_page())
    bad = "<script>document.title = 'run'</script><img src='https://example.org/a.png'></body>"
    (tmp_path / "bad.html").write_text(html.replace("</body>", bad), encoding="utf-8")

    page = browser.open(tmp_path / "bad.html")

    assert page.evaluate("document.title") == "A title"
    assert len([words for words in page.complaints if "Content Security Policy" in words]) == 2


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_a_phone(browser, file_of_whole, dark):
    page = browser.open(file_of_whole, width=PHONE, dark=dark)

    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("innerWidth") == PHONE
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE


def test_a_page_of_hostile_names_fits_a_phone_and_runs_nothing(browser, tmp_path):
    cells = [[name] * 4 for name in HOSTILE]
    sections = [
        Section(
            name,
            [name],
            [Table(HOSTILE[:4], cells, caption=name)],
        )
        for name in HOSTILE
    ]
    facts = dict(zip(HOSTILE, HOSTILE, strict=True))
    page = Page(
        "".join(HOSTILE),
        HOSTILE,
        sections,
        command="".join(HOSTILE),
        python=HOSTILE[9],
        facts=facts,
    )

    seen = browser.open(write(page, tmp_path / "page.html"), width=PHONE)

    assert seen.evaluate("document.documentElement.scrollWidth") == PHONE
    assert seen.complaints == []
    assert seen.texts("tbody tr:first-child th")[0] == HOSTILE[0]
    assert seen.texts("section h2")[1] == HOSTILE[1]


def test_headings_are_in_order_and_everything_has_a_name(browser, file_of_whole, whole):
    page = browser.open(file_of_whole)

    assert page.evaluate("document.title") == whole.title
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    pictures = [
        one for section in whole.sections for one in section.shows if isinstance(one, Picture)
    ]
    names = page.evaluate(
        "[...document.querySelectorAll('svg')].map(s => s.getAttribute('aria-label'))"
    )
    assert names == [picture.caption for picture in pictures]
    assert page.evaluate("[...document.querySelectorAll('th')].every(h => h.scope)")
    targets = page.evaluate(
        "[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    )
    assert targets


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground(browser, file_of_whole, dark):
    page = browser.open(file_of_whole, dark=dark)

    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    in_cells = re.compile(r"\S+ ±?\d+\.\d\d \(text\)")  # of a picture: they lie on paint
    assert [words for words in page.faint_texts() if not in_cells.fullmatch(words)] == []


PAPER = """[...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
  .filter(rule => rule instanceof CSSPageRule).map(rule => rule.style.size)"""
UNFOLDED = """[...new Set([...document.querySelectorAll('details table')].map(
  table => table.checkVisibility() ? 'open' : 'folded'))]"""


def test_in_print_tables_that_are_folded_are_seen_and_colours_are_those_of_paper(
    browser, file_of_whole
):
    page = browser.open(file_of_whole, dark=True)
    assert page.evaluate(UNFOLDED) == ["folded"]
    page.tab.emulate_media(media="print", color_scheme="dark")

    assert page.evaluate(UNFOLDED) == ["open"]
    assert page.evaluate(PAPER) == ["a4"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_in_print_a_wide_table_fits_the_width_of_a4(browser, tmp_path):
    names = ["row", "true class", "predicted class", *(f"measure {i}" for i in range(1, 10))]
    table = Table(names, [[283, "damp grey soil", "stubble", *[-0.328] * 9]])
    page = Page("Wide", ["One row."], [Section("Hardest rows", [], [table])])

    seen = browser.open(write(page, tmp_path / "page.html"), width=718)  # 19 cm
    seen.tab.emulate_media(media="print")

    assert seen.evaluate("document.documentElement.scrollWidth") == 718


@pytest.mark.slow
def test_a_report_of_a_comparison_is_small(compared, iris, tmp_path):
    path = write_report(compared, tmp_path / "report.html", data=iris)

    assert path.stat().st_size < 300_000


def test_one_split_is_written_in_the_singular_and_has_no_deviation():
    X, y = load_iris(return_X_y=True)
    models = {"bayes": GaussianNB(), "discriminant": LinearDiscriminantAnalysis()}
    found = compare(models, X[:, 1:2], y, test_size=0.3, repeats=1, random_state=0)
    page = comparison_page(found, steps=["separatrix models"])
    html = render(page)
    assert "1 splits" not in html
    assert "1 random splits" not in html
    assert "sd" not in page.sections[0].shows[1].columns
    first = html.split("<nav", 1)[0]
    assert first.count("<svg") == 1  # the answer, its picture and the next commands come first
    assert first.index("<svg") < first.index("separatrix models")


def test_dates_and_codes_stay_on_one_line(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"2024-05-{i % 9 + 1:02d},shop-{i % 3},{i},{'ab'[i % 2]}\n" for i in range(30))
    path.write_text("day,shop,x,class\n" + rows)
    section = data_section(read_table(path), ())
    html = render(Page("t", [], [section]))
    assert '<td class="n" dir="auto">2024-05-05</td>' in html  # the median, a day of the table
    assert ["a", 15, "50.0"] in section.shows[0].rows


def test_weights_of_many_classes_are_not_a_table_wider_than_paper():
    X = np.random.default_rng(0).normal(size=(260, 3))
    y = np.arange(260) % 26
    model = LogisticRegression(C=0.1).fit(X, y)
    found = features_section(["logistic"], {"logistic": model}, None)
    assert found.shows[0].table.columns == ["feature", "largest |w|"]
