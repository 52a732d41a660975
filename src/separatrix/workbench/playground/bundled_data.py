"""The data sets of Playground and their columns, which the server lists without loading them."""

from __future__ import annotations

from dataclasses import dataclass

_OF_A_NUCLEUS = (
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity"),
    *("concave points", "symmetry", "fractal dimension"),
)


@dataclass(frozen=True)
class BundledData:
    """A data set of scikit-learn."""

    title: str
    columns: tuple[str, ...]
    first: tuple[str, str]  # the two that are shown first
    labels: tuple[str, ...]


BUNDLED = {
    "iris": BundledData(
        "Iris, 150 flowers",
        ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"),
        ("petal length (cm)", "petal width (cm)"),
        ("setosa", "versicolor", "virginica"),
    ),
    "wine": BundledData(
        "Wine, 178 samples",
        (
            *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols"),
            *("flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue"),
            *("od280/od315_of_diluted_wines", "proline"),
        ),
        ("flavanoids", "color_intensity"),
        ("0", "1", "2"),
    ),
    "breast_cancer": BundledData(
        "Breast cancer, 569 tumours",
        (
            *(f"mean {what}" for what in _OF_A_NUCLEUS),
            *(f"{what} error" for what in _OF_A_NUCLEUS),
            *(f"worst {what}" for what in _OF_A_NUCLEUS),
        ),
        ("mean radius", "mean texture"),
        ("malignant", "benign"),
    ),
    "digits": BundledData(
        "Digits, 1,797 pictures",
        tuple(f"pixel {row},{column}" for row in range(8) for column in range(8)),
        ("pixel 2,5", "pixel 5,2"),
        tuple("0123456789"),
    ),
}
