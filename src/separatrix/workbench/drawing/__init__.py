"""Draw: a picture from the strokes of a pen, the answers of the models, and the reasons."""
