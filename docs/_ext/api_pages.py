"""What the reference adds to docstrings: types and defaults, from the signature."""

import importlib
import inspect
import re
from pathlib import Path

API = Path(__file__).parents[1] / "api.rst"
GUIDE = {  # pages of the user guide, by the section of api.rst that lists a name
    "Support vector machines": ["svm"],
    "Perceptrons": ["perceptrons"],
    "Logistic regression and least squares": ["logistic"],
    "Discriminants": ["discriminants"],
    "Naive Bayes": ["naive_bayes"],
    "Nearest neighbours": ["neighbors", "neighbors_search"],
    "Decisions and probabilities": ["decisions"],
    "Feature maps and encoders": ["features"],
    "Evaluation and explanation": ["evaluate"],
    "Model files": ["files"],
    "Graphs": ["objects"],
    "Kernels on vectors": ["kernels"],
    "Kernels from kernels": ["kernels"],
    "Kernels on sequences": ["objects"],
    "Kernels on graphs": ["objects"],
    "Tools for kernel matrices": ["kernels"],
    "Figures": ["report", "regions"],
    "Gram matrices": ["gram", "kernels"],
    "Data sets and files": ["data"],
    "Acceleration of scikit-learn": ["accel"],
}
GUIDE_OF_NAME = {  # where the section's page is not the one
    "SVCCV": ["svm_choosing"],
    "LinearSVC": ["svm_variants", "svm"],
    "NuSVC": ["svm_variants", "svm"],
    "OneClassSVM": ["svm_variants", "svm"],
    "SubgradientSVC": ["subgradient"],
    "kkt_report": ["svm_margins"],
    "PassiveAggressiveClassifier": ["perceptrons_online", "perceptrons"],
    "KernelLogisticRegression": ["kernel_logistic"],
    "KernelLogisticRegressionCV": ["kernel_logistic"],
    "LeastSquaresClassifier": ["least_squares"],
    "FisherDiscriminant": ["fisher", "discriminants"],
    "KernelFisherDiscriminant": ["kernel_logistic", "fisher"],
    "RadiusNeighborsClassifier": ["neighbors_radius", "neighbors"],
    "calibrate": ["svm_probabilities", "decisions"],
    "CalibratedClassifier": ["svm_probabilities", "decisions"],
    "TableEncoder": ["own_files"],
    "PolynomialMap": ["polynomial_map", "features"],
    "KernelFeatures": ["objects"],
    "indicator": ["least_squares"],
    "compare": ["compare"],
    "decision_regions": ["regions"],
    "explain_object": ["objects"],
    "save_libsvm": ["libsvm"],
    "load_libsvm": ["libsvm"],
    "to_onnx": ["onnx"],
    "register_converters": ["onnx"],
    "Kernel": ["own_kernel", "kernels"],
    "FromCallable": ["own_kernel", "kernels"],
    "plot_letters": ["objects"],
    "plot_graph": ["objects"],
    "plot_graphs": ["objects"],
    "plot_parts": ["objects"],
    "plot_reliability": ["decisions"],
    "plot_costs": ["decisions"],
    "plot_k": ["neighbors"],
    "plot_grid": ["svm_choosing"],
    "read_table": ["own_files"],
    "DeformedDigits": ["data", "gpu"],
}
PACKAGES = ("separatrix", "separatrix.kernels", "separatrix.errors")
CLASSES = ("separatrix.kernels.gram.SharedProducts", "separatrix.data.deformed.DeformedDigits")
SECTION = re.compile(r"^-{3,}\s*$")
NUMPY_KINDS = {"f": "float", "i": "int", "u": "int", "b": "bool", "U": "str", "S": "bytes"}
FIELD_KINDS = {
    "Integer": "int",
    "Real": "float",
    "Boolean": "bool",
    "Text": "str",
    "WordList": "list of str",
    "Shape": "tuple of int",
    "KernelObject": "kernel",
    "SamplesField": "samples",
    "Listed": "list",
    "Entries": "dict",
}
NAMED = {"Parameters", "Other Parameters", "Attributes", "Returns"}


def methods_by_class():
    """Names of the methods to show, by the full name of every public class."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", vars(module)):
            if inspect.isclass(getattr(module, name)):
                found[f"{package}.{name}"] = own_methods(getattr(module, name))
    for path in CLASSES:
        module, _, name = path.rpartition(".")
        found[path] = own_methods(getattr(importlib.import_module(module), name))
    return found


def guides_by_name():
    """Pages of the user guide, by the full name of everything that api.rst lists; errors have none."""
    found, section, package, above = {}, "", "", ""
    for line in API.read_text(encoding="utf-8").splitlines():
        if SECTION.match(line):
            section = above
        elif line.startswith(".. currentmodule::"):
            package = line.split("::")[1].strip()
        elif re.fullmatch(r"   \w+", line):
            name = line.strip()
            found[f"{package}.{name}"] = GUIDE_OF_NAME.get(name, GUIDE.get(section, []))
        above = line.strip()
    return found


def own_methods(owner):
    """Public methods of a class that separatrix defines, in alphabetical order; `fit` is first."""
    found = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("separatrix"):
            found |= {name: base for name in vars(base) if not name.startswith("_")}
    methods = [name for name in found if _is_method(owner, name)]
    return sorted(methods, key=lambda name: (name != "fit", name))


def _is_method(owner, name):
    attribute = inspect.getattr_static(owner, name)
    if isinstance(attribute, property) or not hasattr(owner, name):
        return type(attribute).__name__ == "_AvailableIfDescriptor"
    value = getattr(owner, name)
    return callable(value) and getattr(value, "__module__", "").startswith("separatrix")


def describe_parameters(lines, signature):
    """Add types and defaults to the names of parameters; a group keeps one line, as it has one text."""
    found, inside = [], False
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if SECTION.match(following):
            inside = line.strip() in {"Parameters", "Other Parameters"}
        heading = SECTION.match(line) or SECTION.match(following)
        if not inside or heading or not line.strip() or line[0].isspace() or " : " in line:
            found.append(line)
            continue
        words = [_words(signature.get(name.strip().lstrip("*"))) for name in line.split(",")]
        found.append(f"{line} : {'; '.join(words)}" if all(words) else line)
    return found


def attribute_types(owner):
    """Types of the learned attributes of an estimator, in words, from the schema of its model file."""
    from separatrix.modelfile.kinds import KINDS

    schema = KINDS.get(owner.__name__)
    fields = schema.all_fields(slim=False) if schema is not None else {}
    types = {name: field_type(field) for name, field in fields.items()}
    return {name: words for name, words in types.items() if "object" not in words}


def field_type(field):
    """A field of a model file in words: "float array, (k, d)"."""
    kind = type(field).__name__
    if kind == "Maybe":
        return f"{field_type(field.inner)} or None"
    if kind in {"Array", "MatrixField"}:
        array = getattr(field, "dense", field)
        kinds = {NUMPY_KINDS[word[0]] for word in array.types.split("|")}
        name = "float" if "float" in kinds else min(kinds)
        return f"{name} array{_shape(array.shape)}"
    if kind == "Labels":
        return f"array of labels{_shape(field.shape)}"
    return FIELD_KINDS.get(kind, "object")


def _shape(letters):
    """ ", (k, d)" for "k d"."""
    words = (letters or "").split()
    return f", ({', '.join(words)}{',' if len(words) == 1 else ''})" if words else ""


def describe_attributes(lines, types):
    """Add the types to the names of learned attributes, where all of a group are known."""
    found, inside = [], False
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if SECTION.match(following):
            inside = line.strip() == "Attributes"
        heads = not (SECTION.match(line) or SECTION.match(following)) and line[:1].strip() != ""
        names = [name.strip() for name in line.split(",")]
        if inside and heads and " : " not in line and all(name in types for name in names):
            line = f"{line} : {'; '.join(types[name] for name in names)}"
        found.append(line)
    return found


def escape_text(lines):
    """Escape `|w|` and `coef_` in sentences, which reStructuredText would take for references.

    Examples, literals and the names that head an entry of a section stay as they are.
    """
    found, section, in_example = [], "", False
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if SECTION.match(following):
            section = line.strip()
        in_example = line.strip().startswith(">>>") or (in_example and bool(line.strip()))
        head = section in NAMED and line[:1].strip() != ""
        found.append(line if in_example or head or SECTION.match(line) else _escape(line))
    return found


def _escape(line):
    parts = re.split(r"(`+[^`]*`+)", line)
    parts[::2] = [
        re.sub(r"(?<!\\)\|", r"\\|", re.sub(r"(\w)_(?!\w)", r"\1\\_", part)) for part in parts[::2]
    ]
    return "".join(parts)


def _words(parameter):
    """Type and default of a parameter as numpydoc writes them."""
    if parameter is None:
        return ""
    words = []
    if parameter.annotation is not inspect.Parameter.empty:
        annotation = parameter.annotation
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        if text != "Any":
            words.append(
                text.replace("Any", "object").replace(" | ", " or ").replace("typing.", "")
            )
    if parameter.default is not inspect.Parameter.empty:
        words.append(f"default {parameter.default!r}")
    return ", ".join(words)


def _process(_app, what, _name, obj, _options, lines):
    lines[:] = escape_text(lines)
    if what not in {"class", "function", "method"}:
        return
    try:
        signature = inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return
    lines[:] = describe_parameters(lines, signature)
    if what == "class":
        lines[:] = describe_attributes(lines, attribute_types(obj))


def setup(app):
    """Before numpydoc, which has the priority 500."""
    app.connect("autodoc-process-docstring", _process, priority=400)
    return {"parallel_read_safe": True}
