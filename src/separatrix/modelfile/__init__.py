"""Trained models in files: safe to open, refused once damaged, the same answers on any machine.

`files.py` has `save` and `load`, `describe.py` the model card. `kinds` is the closed table of all that a
file may hold, written with the words of `fields.py`, `values.py` and `kind.py`; samples that are
sequences or graphs are in `object_fields.py`. `libsvm.py` speaks LIBSVM's format.
"""
