"""The room behind Playground: points of the plane, a model, its picture. It answers with plain values."""
