"""The base of everything that is read as JSON: requests and the files of the workbench."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """No unknown fields, no conversion of types, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class EmptyRequest(StrictModel):
    """The body of a request without arguments."""
