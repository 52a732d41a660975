"""Transformers: scaling, encoding, imputation, texts, feature maps.

Texts come from anybody, and so may the file that says how to read them. Parameters that could open a path,
run a function or match a regular expression without end are refused, in writing and in reading.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import preprocessing as skp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer

from separatrix.errors import ModelFileError
from separatrix.estimators.feature_maps import Nystroem, PolynomialMap, RandomFourier
from separatrix.estimators.kernel_features import KernelFeatures
from separatrix.estimators.positions import PositionIndicator
from separatrix.kernels.features import Monomials
from separatrix.kernels.object_kernels import FeatureKernel
from separatrix.kernels.vector_kernels import Polynomial
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema as s
from separatrix.modelfile.container import one_line
from separatrix.modelfile.labels import CategoryColumns, Labels
from separatrix.modelfile.objects import SamplesField, VocabularyField
from separatrix.modelfile.values import NO_CODE, NUMBER, KernelObject, Only, Value

HIGHEST_DEGREE = 10_000  # of a map; its time grows with it, however few features come out
LONGEST_RUN = 32  # of an n-gram; a text has about as many terms for each word
TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # scikit-learn's default, which takes linear time
COUNT_TYPES = (np.int64, np.float64, np.float32)
ENCODINGS = (
    *("utf-8", "utf8", "utf-8-sig", "utf-16", "utf-32", "ascii", "latin-1", "latin1"),
    *("iso-8859-1", "iso-8859-2", "iso-8859-15", "cp1250", "cp1251", "cp1252", "windows-1252"),
)
SAMPLE_TYPES = tuple(code for code in f.NUMBERS.split("|") if code != "b1")
PER_FEATURE = f.Array("f2|f4|f8 d")


def _check_count_type(value: Any, at: str) -> Any:
    if not isinstance(value, type) or value not in COUNT_TYPES:
        names = ", ".join(f"np.{kind.__name__}" for kind in COUNT_TYPES)
        why = f"`{at}` must be one of {names} in a file; found {one_line(value)}"
        raise ModelFileError("unsupported", why)
    return value


def _check_run(value: list[int], at: str) -> tuple[int, int]:
    if len(value) != 2 or not value[0] <= value[1] <= LONGEST_RUN:
        raise f.mismatch_error(at, f"from 1 to {LONGEST_RUN}, the smaller first", value)
    return value[0], value[1]


def _sort_words(vocabulary: dict[str, int]) -> Any:
    return np.array(sorted(vocabulary, key=vocabulary.__getitem__), dtype=object)


def _number_words(words: Any, at: str) -> dict[str, int]:
    if not all(isinstance(word, str) for word in words):
        raise f.schema_error(at, "words", words)
    s.require(len(words) > 0, at, "at least one word", "none")
    return {word: column for column, word in enumerate(words.tolist())}


def _join_letters(codes: Any, at: str) -> str:
    if not len(codes) or codes.max() > 0x10FFFF or not (codes[1:] > codes[:-1]).all():
        raise f.mismatch_error(at, "letters in rising order, none twice", codes)
    return "".join(map(chr, codes.tolist()))


LETTERS = f.Mapped(
    f.Array("u4 k"), _join_letters, lambda text: np.array(list(map(ord, text)), dtype=np.uint32)
)
WORDS = f.Mapped(Labels("w", rising=False), _number_words, _sort_words)
SAMPLE_TYPE = f.Mapped(
    f.Text(SAMPLE_TYPES),
    lambda code, _: np.dtype(code),
    lambda dtype: f"{dtype.kind}{dtype.itemsize}",
)
READING: dict[str, f.Field] = {
    "input": Only(("content",), "for no model from a file opens others"),
    "encoding": Only(ENCODINGS, "for others are not known to be safe"),
    "strip_accents": Only((None, "ascii", "unicode"), NO_CODE),
    **s.each(Only((None,), NO_CODE), "preprocessor tokenizer"),
    "stop_words": Only((None, "english"), "for a file holds no other list of them"),
    "token_pattern": Only((TOKEN_PATTERN,), "for another may take for ever to match"),
    "analyzer": Only(("word", "char", "char_wb"), NO_CODE),
    "ngram_range": f.Mapped(f.Listed(f.Integer(1)), _check_run, list),
    "dtype": f.Mapped(Value(), _check_count_type),
}


def _unpack_vectorizer(model: Any, values: s.Values) -> None:
    s.set_attributes(model, values)
    model.fixed_vocabulary_ = model.vocabulary is not None
    if model.analyzer == "word":
        model._stop_words_id = id(model.stop_words)  # as checked by scikit-learn


def _check_vectorizer(model: Any, sizes: f.ShapeEnv) -> None:
    given = model.vocabulary
    if given is not None:
        meant = given if isinstance(given, dict) else {word: at for at, word in enumerate(given)}
        s.require(meant == model.vocabulary_, "vocabulary_", "as `vocabulary` says", "another")
    if not hasattr(model, "_tfidf"):
        return
    inner, words = model._tfidf, sizes["w"]
    have = inner.n_features_in_
    s.require(have == words, "_tfidf.n_features_in_", f"{words}, one for each word", have)
    for name, value in inner.get_params().items():
        meant = getattr(model, name)
        s.require(value == meant, f"_tfidf.{name}", f"{meant}, as in the model around it", value)


def _check_tfidf(model: Any, _sizes: f.ShapeEnv) -> None:
    found = hasattr(model, "idf_")
    s.require(found == model.use_idf, "idf_", f"there: {model.use_idf}, as use_idf says", found)


def _check_positions(model: Any, sizes: f.ShapeEnv) -> None:
    columns = model.length_ * sizes["k"]
    if columns > f.MOST_WORDS:
        most = f"{f.MOST_WORDS} letters at positions"
        raise ModelFileError("limit", f"`length_`: a file holds at most {most}; found {columns}")


def _pack_imputer(model: Any, values: s.Values, _slim: bool) -> s.Values:
    if model._fit_dtype.kind == "O":
        raise ModelFileError(
            "unsupported",
            "this SimpleImputer was fitted to objects, such as words; a file holds those of numbers",
        )
    as_object = values["statistics_"].dtype.kind == "O"
    statistics = values["statistics_"].astype(float) if as_object else values["statistics_"]
    return {**values, "statistics_": statistics, "as_objects": as_object}


def _unpack_imputer(model: Any, values: s.Values) -> None:
    as_object = values.pop("as_objects")
    s.set_attributes(model, values)
    model.indicator_, model._fill_dtype = None, model._fit_dtype
    fill, found = 0 if model.fill_value is None else model.fill_value, model.statistics_
    constant = model.strategy == "constant"
    s.require(constant or not as_object, "as_objects", "false unless constant", as_object)
    if constant:
        same = bool((np.isnan(found) | (found == float(fill))).all())
        s.require(same, "statistics_", f"{fill}, as fill_value says, or NaN", "others")
    if as_object:  # as scikit-learn keeps it
        filled = np.full(len(found), fill, dtype=object)
        try:
            filled.astype(model._fill_dtype)
        except (OverflowError, ValueError):
            raise f.mismatch_error("fill_value", f"within {model._fill_dtype}", fill) from None
        filled[np.isnan(found)] = np.nan
        model.statistics_ = filled


def _pack_encoder(model: Any, values: s.Values, _slim: bool) -> s.Values:
    _refuse_groups(model)
    return {
        name: values[name] for name in values if name in (*s.FEATURES, *s.COMMON, "categories_")
    }


def _refuse_groups(model: Any) -> None:
    if model.min_frequency is not None or model.max_categories is not None:
        raise ModelFileError(
            "unsupported",
            f"`min_frequency` and `max_categories` of {type(model).__name__} group categories, which a "
            "file does not hold; leave them out",
        )


def _unpack_encoder(model: Any, values: s.Values) -> None:
    """Fit an encoder to one row of its categories: all its other attributes follow from them."""
    _refuse_groups(model)
    categories = values["categories_"]
    row = np.empty((1, len(categories)), dtype=object)
    for j, own in enumerate(categories):
        s.require(len(own) > 0, "categories_", "at least one each", 0)
        row[0, j] = own[0]
    try:
        fitted = clone(model).set_params(categories=categories).fit(row)
    except (TypeError, ValueError, IndexError) as error:
        why = f"`categories_` cannot be used: {one_line(error)}"
        raise ModelFileError("invariant", why) from None
    attributes = {name: value for name, value in vars(fitted).items() if name != "categories"}
    s.set_attributes(model, {**attributes, **values})


def _check_map(model: Any, _sizes: f.ShapeEnv) -> None:
    found, size = model.monomials_, model.n_output_features_
    meant = model._monomials(found.d)
    s.require(found == meant, "monomials_", f"{meant}, as the parameters say", found)
    s.require(found.size == size, "n_output_features_", str(found.size), size)
    s.require(found.degree <= HIGHEST_DEGREE, "degree", f"at most {HIGHEST_DEGREE}", found.degree)


def _check_kernel_features(model: Any, _sizes: f.ShapeEnv) -> None:
    """The number of features of each level follows from the vocabulary."""
    meant = model._counting(model.kernel)
    s.require(meant == model.kernel_, "kernel_", f"{meant!r}, as `kernel` says", model.kernel_)
    tables = set(model.vocabulary_.tables)
    counts = model.kernel_.counts(np.empty(0, dtype=object), model.vocabulary_)
    missing = set(model.vocabulary_.tables) - tables
    s.require(not missing, "vocabulary_", "with all tables of its kernel", f"without {missing}")
    model.widths_ = tuple(int(part.shape[1]) for part in counts)


VECTORIZER: dict[str, Any] = {
    "params": READING,
    "derived": "fixed_vocabulary_ _stop_words_id",
    "unpack": _unpack_vectorizer,
    "check": _check_vectorizer,
}
ENCODER: dict[str, f.Field] = {
    **s.FEATURES,
    "categories_": CategoryColumns(Labels("k", rising=False, missing=True), "d"),
}
MONOMIALS: dict[str, f.Field] = {
    **{"d": f.Integer(1, "d"), "degree": f.Integer(1), "lowest": f.Integer()},
    **{"distinct": f.Boolean(), "kernel": f.Maybe(KernelObject((Polynomial,)))},
}
SCALERS = {
    skp.StandardScaler: s.each(f.Maybe(PER_FEATURE), "mean_ var_ scale_"),
    skp.MinMaxScaler: s.each(PER_FEATURE, "min_ scale_ data_min_ data_max_ data_range_"),
    skp.MaxAbsScaler: s.each(PER_FEATURE, "scale_ max_abs_"),
}
KINDS = {
    **{
        make.__name__: s.ModelSchema(make, {**s.FEATURES, **fields, "n_samples_seen_": Value()})
        for make, fields in SCALERS.items()
    },
    "Normalizer": s.ModelSchema(skp.Normalizer, s.FEATURES),
    **{
        make.__name__: s.ModelSchema(make, ENCODER, pack=_pack_encoder, unpack=_unpack_encoder)
        for make in (skp.OneHotEncoder, skp.OrdinalEncoder)
    },
    "SimpleImputer": s.ModelSchema(
        SimpleImputer,
        {
            **{**s.FEATURES, "_fit_dtype": SAMPLE_TYPE},
            **{"statistics_": f.Array("f2|f4|f8 d any"), "as_objects": f.Boolean()},
        },
        params={
            **{"missing_values": NUMBER, "fill_value": f.Maybe(NUMBER)},
            "strategy": Only(("mean", "median", "most_frequent", "constant"), NO_CODE),
            "add_indicator": Only((False,), "for a file cannot store the columns it adds"),
        },
        derived="indicator_ _fill_dtype",
        pack=_pack_imputer,
        unpack=_unpack_imputer,
    ),
    "CountVectorizer": s.ModelSchema(CountVectorizer, {"vocabulary_": WORDS}, **VECTORIZER),
    "TfidfVectorizer": s.ModelSchema(
        TfidfVectorizer,
        {"vocabulary_": WORDS, "_tfidf": s.InnerModel(("TfidfTransformer",))},
        **VECTORIZER,
    ),
    "TfidfTransformer": s.ModelSchema(
        TfidfTransformer,
        {**s.FEATURES, "idf_": f.Array("f4|f8 d")},
        optional="idf_",
        check=_check_tfidf,
    ),
    "PositionIndicator": s.ModelSchema(
        PositionIndicator, {"letters_": LETTERS, "length_": f.Integer(1)}, check=_check_positions
    ),
    "KernelFeatures": s.ModelSchema(
        KernelFeatures,
        {"kernel_": KernelObject((FeatureKernel,)), "vocabulary_": VocabularyField()},
        derived="widths_",
        check=_check_kernel_features,
    ),
    "PolynomialMap": s.ModelSchema(
        PolynomialMap,
        {
            **{**s.FEATURES, "n_output_features_": f.Integer(1)},
            "monomials_": f.Struct(Monomials, MONOMIALS),
        },
        check=_check_map,
    ),
    "Nystroem": s.ModelSchema(
        Nystroem,
        {
            **{**s.FEATURES, "kernel_": KernelObject(), "components_": SamplesField("m d")},
            **f.arrays(component_indices_="i8 m >=0", normalization_="f8 m m"),
            **{"rank_": f.Integer(), "_n_features_out": f.Integer(1, "m")},
        },
        optional="n_features_in_",
        check=s.check_kernel,
    ),
    "RandomFourier": s.ModelSchema(
        RandomFourier,
        {
            **{**s.FEATURES, "gamma_": f.Real(), "_n_features_out": f.Integer(1, "m")},
            **f.arrays(random_weights_="f8 d m", random_offset_="f8 m"),
        },
    ),
}
