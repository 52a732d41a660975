"""One function a format: bytes in, a `Dataset` out, and an error that says where."""
