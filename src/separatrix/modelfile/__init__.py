"""Model files: safe to load, refused once damaged, bit-identical predictions on any machine.

`files.py` has `save` and `load`, `describe.py` the model card in Markdown, `libsvm_text.py` LIBSVM's
models. `kinds` is the closed table of schemas, which consist of the fields in `fields.py`, `labels.py`,
`objects.py` and `values.py`.
"""
