"""
A model for other programs
==========================

``to_onnx`` writes a fitted model as a graph of standard operators, which onnxruntime runs without Python. Its labels are those of
`predict`; here probabilities differ by the rounding of float32 at most: see :doc:`the page on ONNX </onnx>`.
"""

import importlib.util

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from separatrix import SVC, to_onnx

X, y = make_moons(300, noise=0.25, random_state=0)
model = SVC(C=10, calibration="sigmoid", random_state=0).fit(X, y)
side = np.linspace(-2, 3, 150, dtype=np.float32)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
ours = model.predict_proba(grid)[:, 1]

# %%
# Without the packages of ``pip install 'separatrix[onnx]'`` this page shows the model alone.

needed = ("onnx", "skl2onnx", "onnxruntime")
if all(importlib.util.find_spec(name) for name in needed):
    import onnxruntime

    graph = to_onnx(model)
    print(len(graph.SerializeToString()), "bytes;", len(graph.graph.node), "operators:")
    print(", ".join(sorted({node.op_type for node in graph.graph.node})))
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, probabilities = session.run(["label", "probabilities"], {"X": grid})
    theirs = probabilities[:, 1]
    print("labels equal:", np.array_equal(label, model.predict(grid)))
else:
    print("onnxruntime is not installed")
    theirs = ours

# %%
# Left the probability of the second class by onnxruntime, right its difference to that of `predict_proba`.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
extent = (-2, 3, -2, 3)
shape = (150, 150)
left.imshow(theirs.reshape(shape), origin="lower", extent=extent, cmap="RdBu", aspect="auto")
left.scatter(*X.T, c=y, cmap="RdBu", edgecolors="k", s=12)
left.set_title("probability by onnxruntime")
gap = right.imshow((theirs - ours).reshape(shape), origin="lower", extent=extent, aspect="auto")
right.set_title("difference to predict_proba")
figure.colorbar(gap, ax=right)
plt.show()
