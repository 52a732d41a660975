"""What is known of each data set of the catalogue: a card, and the files it is made of.

Licences are as they are commonly stated; no home page could be read when this was written, and no
address tried, so none is marked `checked`. Hashes are of the unpacked bytes of copies whose numbers
agree with the published ones. Where a public home keeps the same numbers in other bytes, there is
no hash, and the number of rows alone is checked.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

_MIB = 1 << 20


@dataclass(frozen=True)
class File:
    """One file of a data set."""

    name: str
    """Where it lies in a folder of data; with or without the .gz."""
    addresses: tuple[str, ...]
    """Where it is downloaded from, tried in this order."""
    sha256: str = ""
    """Of the unpacked bytes; empty where it is not known."""
    size: int = 64 * _MIB
    """Unpacked bytes; where there is no hash, the most there may be."""
    member: str = ""
    """Its name in the zip file at the address; empty where the address has the file itself."""
    md5: str = ""
    """Of the packed bytes, where only that is published."""
    checked: bool = False
    """Whether somebody has tried the addresses."""

    @property
    def plain(self) -> str:
        """The name without .gz."""
        return self.name.removesuffix(".gz")


@dataclass(frozen=True)
class DatasetCard:
    """What a data set is, where it comes from and who is to be named for it."""

    name: str
    what: str
    rows: int
    features: str
    classes: tuple[tuple[str, int], ...]
    """Name and count of each class, of the training part where there is a test part."""
    source: str
    licence: str
    citation: str
    kind: str = "vectors"
    test_rows: int = 0
    files: tuple[File, ...] = ()
    """None where it is built in."""

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "classes": dict(self.classes)}


def _digits(*counts: int) -> tuple[tuple[str, int], ...]:
    return tuple((str(digit), count) for digit, count in enumerate(counts))


def _images(folder: str, services: tuple[str, ...], hashes: dict[str, tuple[str, int, str]]) -> Any:
    return tuple(
        File(
            f"{folder}{name}.gz",
            tuple(f"{home}/{name}.gz" for home in services),
            sha256,
            size,
            md5=md5,
        )
        for name, (sha256, size, md5) in hashes.items()
    )


_MNIST = _images(
    "",
    (
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
    ),
    {
        "train-images-idx3-ubyte": (
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            47_040_016,
            "",
        ),
        "train-labels-idx1-ubyte": (
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            60_008,
            "",
        ),
        "t10k-images-idx3-ubyte": (
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            7_840_016,
            "",
        ),
        "t10k-labels-idx1-ubyte": (
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            10_008,
            "",
        ),
    },
)
_FASHION = _images(
    "fashion_mnist/",
    (
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    ),
    {
        "train-images-idx3-ubyte": ("", 47_040_016, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        "train-labels-idx1-ubyte": ("", 60_008, "25c81989df183df01b3e8a0aad5dffbe"),
        "t10k-images-idx3-ubyte": ("", 7_840_016, "bef4ecab320f06d8554ea6380940ec79"),
        "t10k-labels-idx1-ubyte": ("", 10_008, "bb300cfdad3c16e7a12a480ee83cd310"),
    },
)
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_ESL = "https://hastie.su.domains/ElemStatLearn/datasets"
_UCI = "https://archive.ics.uci.edu/static/public"
_OLD_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/molecular-biology"
_R8 = "https://raw.githubusercontent.com/yao8839836/text_gcn/master/data/R8"
_TU = ("https://www.chrsmrrs.com/graphkerneldatasets/MUTAG.zip",)
_ADULT = "Kohavi, Scaling Up the Accuracy of Naive-Bayes Classifiers, KDD 1996; Platt, 1998"
_CC = "commonly stated CC BY 4.0, not checked"
_SCIKIT = "scikit-learn, sklearn.datasets"


def _adult(*parts: tuple[str, str, int]) -> tuple[File, ...]:
    return tuple(
        File(f"{part}.gz", (f"{_LIBSVM}/{part}",), sha256, size) for part, sha256, size in parts
    )


_ALL = (
    DatasetCard(
        "iris",
        "Irises of three kinds, by the length and width of sepals and petals.",
        150,
        "4, in centimetres",
        (("setosa", 50), ("versicolor", 50), ("virginica", 50)),
        _SCIKIT,
        _CC,
        "Fisher, The Use of Multiple Measurements in Taxonomic Problems, 1936",
    ),
    DatasetCard(
        "digits",
        "Handwritten digits as small pictures.",
        1797,
        "64: 8 x 8, 0 to 16",
        _digits(178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
        _SCIKIT,
        _CC,
        "Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, 1998",
    ),
    DatasetCard(
        "wine",
        "Wines of three growers, by chemical analysis.",
        178,
        "13, of different units",
        (("class_0", 59), ("class_1", 71), ("class_2", 48)),
        _SCIKIT,
        _CC,
        "Forina et al., PARVUS, 1988; Aeberhard, Coomans and de Vel, 1992",
    ),
    DatasetCard(
        "breast_cancer",
        "Tumours, by measures of cell nuclei (Wisconsin, diagnostic).",
        569,
        "30, of different units",
        (("malignant", 212), ("benign", 357)),
        _SCIKIT,
        _CC,
        "Street, Wolberg and Mangasarian, Nuclear Feature Extraction, 1993",
    ),
    DatasetCard(
        "usps",
        "Handwritten digits of envelopes: zip.train, then zip.test, as one set.",
        9298,
        "256: 16 x 16, -1 to 1",
        _digits(1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821),
        "the data page of The Elements of Statistical Learning",
        "no licence stated",
        "Le Cun et al., Handwritten Digit Recognition with a Back-Propagation Network, 1990; Hastie, "
        "Tibshirani and Friedman, The Elements of Statistical Learning, 2009",
        files=(
            File(
                "zip.train.gz",
                (f"{_ESL}/zip.train.gz",),
                "abc9f5c75b997cabe66b5d01727d5a681c69298e1641a8d37b55433a52129dc0",
                14_512_253,
            ),
            File("zip.test.gz", (f"{_ESL}/zip.test.gz",), size=4 * _MIB),
        ),
    ),
    DatasetCard(
        "mnist",
        "Handwritten digits as pictures, with a test set of other writers.",
        60_000,
        "784: 28 x 28, 0 to 255",
        _digits(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        "MNIST",
        "commonly stated CC BY-SA 3.0, not checked",
        "LeCun, Bottou, Bengio and Haffner, Gradient-Based Learning Applied to Document "
        "Recognition, 1998",
        test_rows=10_000,
        files=_MNIST,
    ),
    DatasetCard(
        "fashion_mnist",
        "Pieces of clothing as pictures, in the sizes of MNIST.",
        60_000,
        "784: 28 x 28, 0 to 255",
        _digits(*[6000] * 10),
        "Zalando Research",
        "commonly stated MIT, not checked",
        "Xiao, Rasul and Vollgraf, Fashion-MNIST, arXiv:1708.07747, 2017",
        test_rows=10_000,
        files=_FASHION,
    ),
    DatasetCard(
        "a4a",
        "Adult: who earns more than 50,000 dollars; a small training part of a9a.",
        4781,
        "123 flags, sparse",
        (("-1", 3593), ("1", 1188)),
        "the LIBSVM data page, from UCI Adult",
        _CC,
        _ADULT,
        test_rows=27_780,
        files=_adult(
            ("a4a", "694d5abff492bdb8ce9749ddf3bf5af1c6f1f0ad6e3a0ae7818000d4d4c4847b", 342_050),
            (
                "a4a.t",
                "23fef5e5ac0d1bc17a4ac55a16c03d361e41e890a83595a3e7da6eca9660e4bf",
                1_987_825,
            ),
        ),
    ),
    DatasetCard(
        "a9a",
        "Adult: who earns more than 50,000 dollars.",
        32_561,
        "123 flags, sparse",
        (("-1", 24_720), ("1", 7841)),
        "the LIBSVM data page, from UCI Adult",
        _CC,
        _ADULT,
        test_rows=16_281,
        files=_adult(
            ("a9a", "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906", 2_329_875),
            (
                "a9a.t",
                "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
                1_164_628,
            ),
        ),
    ),
    DatasetCard(
        "sms_spam",
        "Short messages in English, wanted and not.",
        5574,
        "texts",
        (("ham", 4827), ("spam", 747)),
        "UCI, SMS Spam Collection",
        _CC,
        "Almeida, Gomez Hidalgo and Yamakami, Contributions to the Study of SMS Spam Filtering, "
        "DocEng 2011",
        kind="text",
        files=(
            File(
                "SMSSpamCollection.gz",
                (f"{_UCI}/228/sms+spam+collection.zip",),
                "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
                477_907,
                member="SMSSpamCollection",
            ),
        ),
    ),
    DatasetCard(
        "r8",
        "News of eight subjects, in small letters: Reuters-21578 R8, all terms.",
        5485,
        "texts",
        (
            ("earn", 2840),
            ("acq", 1596),
            ("crude", 253),
            ("trade", 251),
            ("money-fx", 206),
            ("interest", 190),
            ("ship", 108),
            ("grain", 41),
        ),
        "Reuters-21578, in the split of Cardoso-Cachopo",
        "commonly stated for research use, not checked",
        "Lewis, Reuters-21578; Cardoso-Cachopo, Improving Methods for Single-label Text "
        "Categorization, 2007",
        kind="text",
        test_rows=2189,
        files=(
            File(
                "r8-train.txt.gz",
                (f"{_R8}/train.txt",),
                "3ed60c905aaa95b96c3fc4afb6d14ad2e20106c59c5b9dda950dcb3075eecfbe",
                3_354_423,
            ),
            File(
                "r8-test.txt.gz",
                (f"{_R8}/test.txt",),
                "2ba368c42e6808bc3dc68b8f7879eb07a2810ed137f0b304e2213b689677e561",
                1_195_260,
            ),
        ),
    ),
    DatasetCard(
        "promoters",
        "Stretches of E. coli DNA, with a promoter (+) or without (-); those without overlap each other.",
        106,
        "sequences of 57 bases",
        (("+", 53), ("-", 53)),
        "UCI, Molecular Biology (Promoter Gene Sequences)",
        _CC,
        "Towell, Shavlik and Noordewier, Refinement of Approximate Domain Theories, AAAI 1990",
        kind="sequences",
        files=(
            File(
                "promoters.data.gz",
                (
                    f"{_UCI}/67/molecular+biology+promoter+gene+sequences.zip",
                    f"{_OLD_UCI}/promoter-gene-sequences/promoters.data",
                ),
                "9cba9e8661ab04760d69b857f62259233446f2dce5ec9b515efe0b23c315bb29",
                7089,
                member="promoters.data",
            ),
        ),
    ),
    DatasetCard(
        "splice",
        "Primate DNA around the place where an exon ends (EI), begins (IE) or neither (N).",
        3190,
        "sequences of 60 bases",
        (("EI", 767), ("IE", 768), ("N", 1655)),
        "UCI, Molecular Biology (Splice-junction Gene Sequences)",
        _CC,
        "Noordewier, Towell and Shavlik, Training Knowledge-Based Neural Networks to Recognize Genes "
        "in DNA Sequences, 1991",
        kind="sequences",
        files=(
            File(
                "splice.data.gz",
                (
                    f"{_UCI}/69/molecular+biology+splice+junction+gene+sequences.zip",
                    f"{_OLD_UCI}/splice-junction-gene-sequences/splice.data",
                ),
                "ebbae10c85d3c285e2a2489a37e42bc2ee8d91d15005e391a9962fa3389a114f",
                319_000,
                member="splice.data",
            ),
        ),
    ),
    DatasetCard(
        "mutag",
        "Molecules as graphs, mutagenic (1) or not (-1).",
        188,
        "graphs: 7 kinds of atoms, 4 kinds of bonds",
        (("-1", 63), ("1", 125)),
        "TUDataset, MUTAG",
        "no licence stated",
        "Debnath et al., Structure-Activity Relationship of Mutagenic Aromatic and Heteroaromatic "
        "Nitro Compounds, 1991; Kriege and Mutzel, Subgraph Matching Kernels, 2012",
        kind="graphs",
        files=tuple(
            File(f"MUTAG/MUTAG_{part}.txt", _TU, sha256, size, member=f"MUTAG/MUTAG_{part}.txt")
            for part, sha256, size in (
                ("A", "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2", 76_940),
                (
                    "graph_indicator",
                    "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
                    11_532,
                ),
                (
                    "graph_labels",
                    "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
                    439,
                ),
                (
                    "node_labels",
                    "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
                    6742,
                ),
                (
                    "edge_labels",
                    "4669ce755075ff86c3240709345745886400908fa637a49310459b9c267b3e56",
                    14_884,
                ),
            )
        ),
    ),
)

DATASET_CARDS = {entry.name: entry for entry in _ALL}
