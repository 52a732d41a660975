"""Tensors in, tensors out, on the device they came from."""

import numpy as np
from tests.gpu.at_hand import case, digits, real_card, refused, size, tensor

from separatrix import SVC, KernelPerceptron, KNeighborsClassifier
from separatrix.errors import DataError
from separatrix.kernels import Polynomial

MODELS = (
    SVC(C=10, gamma=1e-3),
    KernelPerceptron(Polynomial(2)),
    KNeighborsClassifier(3),
)


def test_tensors_on_the_card_give_answers_on_the_card():
    import torch

    X, y = digits(size(600, 300))
    for model in MODELS:
        for dtype in (torch.float32, torch.float64):
            with case(type(model).__name__, dtype):
                model.set_params(device="auto")
                T = tensor(X).to(dtype)
                guessed = model.fit(T, tensor(y)).predict(T)
                assert isinstance(guessed, torch.Tensor)
                assert guessed.device == T.device
                expected = model.set_params(device="cpu").fit(X, y).predict(X)
                assert np.mean(guessed.cpu().numpy() == expected) >= 0.995


def test_scores_and_distances_are_tensors_there_too():
    import torch

    X, y = digits(size(500, 300))
    T = tensor(X)
    svc = SVC(C=10, gamma=1e-3, device="cuda").fit(T, tensor(y))
    neighbors = KNeighborsClassifier(3, device="cuda").fit(T, tensor(y))
    for answer in (svc.decision_function(T), *neighbors.kneighbors(T)):
        assert isinstance(answer, torch.Tensor)
        assert answer.device == T.device
    np.testing.assert_allclose(
        svc.decision_function(T).cpu().numpy(), svc.decision_function(X), atol=1e-4
    )


def test_arrays_in_give_arrays_out_of_the_card():
    X, y = digits(size(500, 300))
    for model in MODELS:
        with case(type(model).__name__):
            guessed = model.set_params(device="cuda").fit(X, y).predict(X)
            assert isinstance(guessed, np.ndarray)
            assert guessed.dtype == y.dtype


def test_what_is_learned_stays_in_numpy():
    X, y = digits(size(500, 300))
    model = SVC(C=10, gamma=1e-3, device="cuda").fit(tensor(X), tensor(y))
    for name in ("support_", "dual_coef_", "intercept_", "violation_", "classes_"):
        assert isinstance(getattr(model, name), np.ndarray), name


def test_labels_that_are_words_stay_words():
    X, y = digits(size(500, 300))
    words = np.array(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    )
    model = SVC(C=10, gamma=1e-3, device="cuda").fit(tensor(X), words[y])
    assert model.predict(tensor(X[:3])).tolist() == words[y[:3]].tolist()


def test_input_on_two_devices_is_refused():
    real_card()
    X, y = digits(200)
    import torch

    with refused(DataError, "cuda", "cpu"):
        SVC(device="cuda").fit(tensor(X), torch.as_tensor(y))
    with refused(DataError, "device='auto'"):
        SVC(device="cpu").fit(tensor(X), y)


def test_half_precision_is_refused_in_a_sentence():
    import torch

    X, y = digits(200)
    with refused(DataError, "float16"):
        SVC(device="cuda").fit(tensor(X).to(torch.float16), y)


def test_a_number_that_is_none_is_refused_before_any_work():
    X, y = digits(200)
    X = X.copy()
    X[3, 5] = np.nan
    for model in MODELS:
        with case(type(model).__name__), refused(ValueError, "NaN"):
            model.set_params(device="cuda").fit(tensor(X), tensor(y))
