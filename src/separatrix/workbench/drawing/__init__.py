"""Draw: a picture from a pen's strokes, the models that answer for it, and why they answer so."""
