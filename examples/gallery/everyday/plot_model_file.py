"""
Saving a model, and noticing damage
===================================

A model file holds numbers and no code: loading a file from a stranger executes nothing. It has a checksum and a model card, and the
loaded model predicts the same bits.
"""

import json
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
# A slim file leaves out what only a further fit would need. The header of a file lists its arrays, so other programs can read them too.


def sizes(path):
    """KiB of every array of a file, by its name."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    arrays = json.loads(raw[8 : 8 + length])
    arrays.pop("__metadata__", None)
    spans = {name: found["data_offsets"] for name, found in arrays.items()}
    return {name.rpartition("/")[2]: (stop - start) / 1024 for name, (start, stop) in spans.items()}


largest = sorted(sizes(full), key=sizes(full).get)[-8:]
rows = np.arange(len(largest))
figure, panel = plt.subplots(figsize=(7, 3.2))
for shift, (label, path) in zip((0.2, -0.2), {"full": full, "slim": slim}.items(), strict=True):
    found = sizes(path)
    panel.barh(rows + shift, [found.get(name, 0) for name in largest], height=0.38, label=label)
panel.set_yticks(rows, largest)
panel.set(xscale="log", xlabel="KiB (log scale)", title="The largest arrays of the file")
panel.legend()
plt.show()
