"""Turns the switch on if the environment asks for it; `separatrix_accel.pth` imports this at start-up."""

from __future__ import annotations

import os

from separatrix.accel.switch import VARIABLE, patch

if os.environ.get(VARIABLE, "0") not in ("", "0"):
    patch(fallback=os.environ[VARIABLE] != "strict")
