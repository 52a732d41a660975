import numpy as np
import pytest
from matplotlib.collections import LineCollection
from pandas import DataFrame
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError

from separatrix import SVC, LinearSVC, Perceptron
from separatrix.errors import DataError, ParameterError
from separatrix.evaluation.regions import decision_regions
from separatrix.evaluation.rules import RULES
from separatrix.plots.region_figures import TINT, plot_embedding, plot_regions

IRIS = load_iris()
X = IRIS.data[:, 2:]
Y = IRIS.target_names[IRIS.target]
TWO = Y != "setosa"


def words_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def points_of(axes):
    """Scatters hold their points as offsets; contours are at the origin."""
    return [part for part in axes.collections if len(part.get_offsets()) > 1]


@pytest.mark.parametrize("rule", RULES)
def test_the_legend_says_the_share_of_every_region(rule):
    share = decision_regions(LinearSVC(), X, Y, rule=rule).share

    figure = plot_regions(LinearSVC(), X, Y, rule=rule)

    told = {label: part for label, part in share.items() if label is not None or part}
    assert words_of(figure) == [
        f"{label or 'indeterminate'}\n{100 * part:.1f} % of the area"
        for label, part in told.items()
    ]
    assert figure.axes[0].get_title() == f"LinearSVC: {RULES[rule]}"


def test_samples_are_drawn_over_regions_in_the_colour_of_their_class():
    regions = decision_regions(LinearSVC(), X, Y, rule="rest", grid=50)

    axes = plot_regions(regions, X, Y).axes[0]

    image = axes.images[0].get_array()
    assert image.shape == (50, 50, 3)
    for code, points in enumerate(points_of(axes)):
        np.testing.assert_array_equal(points.get_offsets(), X[regions.labels[code] == Y])
        colour = points.get_facecolor()[0, :3]
        tints = image[regions.codes == code]
        np.testing.assert_allclose(1 - tints, np.tile(TINT * (1 - colour), (len(tints), 1)))
        assert points.get_zorder() > axes.images[0].get_zorder()
    greys = image[regions.codes == -1]
    assert len(greys)
    np.testing.assert_array_equal(greys, greys[:, :1].repeat(3, axis=1))
    assert [part.hatches for part in axes.collections if getattr(part, "hatches", [None])[0]] == [
        ["//////"]
    ]


def test_the_boundary_of_a_linear_model_is_drawn_where_its_score_is_0():
    model = LinearSVC(C=10.0).fit(X[TWO], Y[TWO])

    figure = plot_regions(model, X[TWO], Y[TWO], show_margins=True)

    axes = figure.axes[0]
    (boundary,) = (part for part in axes.collections if isinstance(part, LineCollection))
    assert len(boundary.get_segments()) == 1
    vertices = np.concatenate(boundary.get_segments())
    gradient = np.linalg.norm(model.coef_ * np.ptp(X[TWO], axis=0)) / 300  # per cell
    np.testing.assert_allclose(model.decision_function(vertices), 0, atol=gradient / 50)
    scores = [model.decision_function([line.get_xy1(), line.get_xy2()]) for line in axes.lines]
    np.testing.assert_allclose(scores, [[-1, -1], [1, 1]])
    assert words_of(figure)[-1] == f"margins\n{model.margin_width_[0]:.3g} apart"


@pytest.mark.slow
@pytest.mark.parametrize(("k", "drawn"), [(3, 3), (4, 6), (5, 0)])
def test_of_many_boundaries_only_the_edges_of_regions_are_drawn(k, drawn):
    corners = 10 * np.stack([np.cos(np.arange(k)), np.sin(np.arange(k))], axis=1)
    X, y = np.concatenate([corners, 1.1 * corners]), np.tile(range(k), 2)

    figure = plot_regions(LinearSVC(), X, y, rule="pairs")

    lines = [part for part in figure.axes[0].collections if type(part).__name__ == "QuadContourSet"]
    assert len([part for part in lines if not part.filled]) == drawn


def test_undecided_parts_are_hatched_and_the_legend_says_so():
    """Two equal points of different classes: the score is 0 everywhere, up to rounding."""
    figure = plot_regions(SVC(gamma=1.0), [[0.0, 0.0], [0.0, 0.0]], ["a", "b"], grid=20)

    assert words_of(figure)[-1] == "undecided\n100.0 % of the area"
    (hatched,) = (part for part in figure.axes[0].collections if getattr(part, "hatches", None))
    assert hatched.hatches == ["xxxx"]


def test_a_data_frame_names_the_axes():
    frame = DataFrame(X, columns=["length", "width"])
    axes = plot_regions(Perceptron(predictor="average"), frame[TWO], Y[TWO], grid=20).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("length", "width")
    axes = plot_regions(LinearSVC(), X, Y, grid=20, names=("a", "b")).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a", "b")


def test_what_cannot_be_drawn_is_refused_in_a_sentence():
    ready = decision_regions(LinearSVC(), X[TWO], Y[TWO], grid=20)
    with pytest.raises(ParameterError, match=r"`rule and grid` .* None where regions are ready"):
        plot_regions(ready, X, Y, rule="pairs", grid=30)
    with pytest.raises(DataError, match=r"labels \['setosa'\] that the regions do not have"):
        plot_regions(ready, X, Y)
    with pytest.raises(DataError, match="plot_regions needs samples of 2 features; got 4"):
        plot_regions(ready, IRIS.data, Y)
    with pytest.raises(ParameterError, match="`names` of plot_regions must be two names"):
        plot_regions(ready, X[TWO], Y[TWO], names=["a"])
    for model in (ready, LinearSVC(), LinearSVC().fit(X, Y)):
        with pytest.raises(ParameterError, match=r"`show_margins` .* linear, fitted, and of two"):
            plot_regions(model, X[TWO], Y[TWO], show_margins=True)
    with pytest.raises(ParameterError, match=r"`transformer` .* fitted, with a transform"):
        plot_embedding(LinearSVC(), X, Y)
    with pytest.raises(NotFittedError):
        plot_embedding(PCA(), X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plot_embedding(PCA().fit(X), X, Y[:10])


def test_an_embedding_is_drawn_on_its_first_two_axes():
    discriminant = LinearDiscriminantAnalysis().fit(IRIS.data, Y)

    figure = plot_embedding(discriminant, IRIS.data, Y)

    axes = figure.axes[0]
    Z = discriminant.transform(IRIS.data)
    for label, points in zip(IRIS.target_names, points_of(axes), strict=True):
        np.testing.assert_array_equal(points.get_offsets(), Z[label == Y])
    assert len({points.get_paths()[0].vertices.shape for points in points_of(axes)}) == 3
    assert axes.get_xlabel() == "axis 1, 99.1 % of the variance"
    assert axes.get_ylabel() == "axis 2, 0.9 % of the variance"
    assert words_of(figure) == IRIS.target_names.tolist()


def test_a_single_axis_is_drawn_as_stacked_histograms():
    class FirstColumn:
        scatter_ratio_ = (12.3456,)

        def transform(self, X):
            return X[:, :1]

    figure = plot_embedding(FirstColumn(), X, Y)

    axes = figure.axes[0]
    heights = [sum(bar.get_height() for bar in bars) for bars in axes.containers]
    assert heights == [50, 50, 50]
    for lower, upper in zip(axes.containers, axes.containers[1:], strict=False):
        tops = [bar.get_y() + bar.get_height() for bar in lower]
        assert [bar.get_y() for bar in upper] == tops
    assert len({bars[0].get_hatch() for bars in axes.containers}) == 3
    assert axes.get_xlabel() == "axis 1, between / within scatter 12.3"
    assert words_of(figure) == IRIS.target_names.tolist()


class Identity:
    def transform(self, X):
        return X


def test_an_axis_without_a_ratio_has_a_number():
    axes = plot_embedding(Identity(), X, Y).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("axis 1", "axis 2")


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 12, 40])
def test_every_number_of_classes_can_be_told_apart(k, tmp_path):
    figure = plot_embedding(Identity(), np.random.default_rng(0).normal(size=(k, 2)), np.arange(k))

    looks = {
        (tuple(points.get_facecolor()[0]), str(points.get_paths()[0].vertices))
        for points in figure.axes[0].collections
    }
    assert len(looks) == k
    figure.savefig(tmp_path / "picture.png")
