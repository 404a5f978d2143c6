"""Results as plain lists, numbers and words: the one place that turns them into what JSON can hold."""

import dataclasses
import math
from typing import Any


def plain(value: Any) -> Any:
    """The same value in types that JSON has; None where a number is not finite, names of odd files made printable.

    Dataclasses are taken by their fields, without those whose metadata have ``"plain": False``, and named tuples, too.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.metadata.get("plain", True)]
        return {name: plain(getattr(value, name)) for name in fields}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {plain(str(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or isinstance(value, bool | int):
        return value
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
