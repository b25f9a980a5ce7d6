"""Methods of one HTTP response that are replaced until it is closed.

Afterwards the response is as a bare one: it can be pickled, and goes when nobody holds
it any more. A method of ours that held itself would wait for the garbage collector.
"""

from __future__ import annotations

from typing import Any, cast

_OWNER = "__otel_specdecode_owner__"
_BEFORE = "__otel_specdecode_before__"


def replace(response: Any, name: str, method: Any, owner: object) -> None:
    """Put a function in the place of a method of this one object.

    Args:
        response: the HTTP response.
        name: of the method.
        method: a function that does not name itself.
        owner: who may put the old method back.
    """
    noted = _fields_of(method)
    noted[_OWNER], noted[_BEFORE] = owner, _fields_of(response).get(name)
    setattr(response, name, method)


def put_back(response: Any, name: str, owner: object) -> None:
    """Undo that, unless somebody has replaced the method since.

    Args:
        response: the HTTP response.
        name: of the method.
        owner: as it was given.
    """
    method = _fields_of(response).get(name)
    if getattr(method, _OWNER, None) is not owner:
        return
    before: Any = getattr(method, _BEFORE)
    if before is None:
        delattr(response, name)
    else:
        setattr(response, name, before)


def _fields_of(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", vars(value))
