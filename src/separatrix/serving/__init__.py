"""A model server: the Open Inference Protocol and plain `/predict`, from model files.

`model_store.py` holds the models and reloads them, `micro_batches.py` scores requests in blocks,
`gateway.py` refuses what is too large, too slow or not allowed before a route sees it.
"""
