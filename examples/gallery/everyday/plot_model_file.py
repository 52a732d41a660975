"""
Saving a model, and noticing damage
===================================

A model file holds numbers and no code: loading a file from a stranger executes nothing. It has a checksum and a model card, and the
loaded model predicts the same bits.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from separatrix import SVC, describe, load, save
from separatrix.errors import ModelFileError

X, y = load_digits(return_X_y=True)
model = make_pipeline(MinMaxScaler(), SVC(C=10)).fit(X[:1200], y[:1200])
folder = Path(tempfile.mkdtemp())
full = save(model, folder / "digits.model", data=(X[:1200], y[:1200]), note="handwritten digits")
slim = save(model, folder / "slim.model", slim=True)
same = np.array_equal(load(slim).decision_function(X), model.decision_function(X))
print("scores of the loaded model are the same bits:", same)
print(describe(full).markdown().split("\n\n")[0])

# %%
# One flipped bit is found, wherever it is.

raw = bytearray(full.read_bytes())
raw[len(raw) // 2] ^= 1
(folder / "damaged.model").write_bytes(raw)
try:
    load(folder / "damaged.model")
except ModelFileError as error:
    print(error.reason)

# %%
# A slim file leaves out what only a further fit would need.

figure, panel = plt.subplots(figsize=(6, 1.6))
panel.barh(
    ["full", "slim"], [path.stat().st_size / 2**20 for path in (full, slim)], color="#3b6ea5"
)
panel.set_xlabel("MiB")
plt.show()
