"""Gives each process a `service.instance.id` of its own.

Cumulative sums of two processes under one id overwrite each other.
Source: https://github.com/open-telemetry/opentelemetry-python/issues/3885
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.resources import (
    SERVICE_INSTANCE_ID,
    OTELResourceDetector,
    Resource,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class ProcessResource(Resource):
    """A resource whose `service.instance.id` is that of the process that asks.

    SDKs from 1.44 on renew the id of a provider after a fork by themselves; here it
    is renewed under older ones too.
    """

    def __init__(self, base: Resource, given_id: str | None) -> None:
        """Take over a resource.

        Args:
            base: where everything but the id comes from.
            given_id: the id that the user chose; `None` to make one up.
        """
        super().__init__(dict(base.attributes), base.schema_url)
        self._given_id = given_id
        self._pid: int | None = None
        self._current: Resource | None = None

    @classmethod
    def of(cls, base: Resource, given: Mapping[str, str]) -> ProcessResource:
        """Take over a resource, and the id where a user gave one.

        Args:
            base: where everything but the id comes from.
            given: attributes given in code; they win over the variable's.
        """
        attributes = {**OTELResourceDetector().detect().attributes, **given}
        chosen = attributes.get(SERVICE_INSTANCE_ID)
        return cls(base, None if chosen is None else str(chosen))

    @property
    def attributes(self) -> Any:
        """The attributes, with the id of this process."""
        pid = os.getpid()
        if self._current is None or self._pid != pid:
            given = self._given_id
            own = str(uuid.uuid4()) if given is None else f"{given}/{pid}"
            merged = {**super().attributes, SERVICE_INSTANCE_ID: own}
            self._current, self._pid = Resource(merged, self.schema_url), pid
        return self._current.attributes
