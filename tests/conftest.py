"""What holds for every test: no failure of our own is hidden, and nothing hangs."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# Set for good and not for a test: finalisers and threads outlive tests.
os.environ["OTEL_SPECDECODE_RERAISE"] = "true"
for _name in [name for name in os.environ if name.startswith(("OTEL_", "OPENAI_"))]:
    if _name != "OTEL_SPECDECODE_RERAISE":
        del os.environ[_name]

# A shell that starts the tests in the background has them, and with them every program
# that a test interrupts, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure, and the long form of a test asks for more by itself.
hypothesis.settings.register_profile(
    "short",
    deadline=None,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("short")

_LONGEST_TEST_S = 300
_LONGEST_FULL_TEST_S = 1800
_AS_A_USER = ("docs", "examples")


@pytest.fixture(autouse=True)
def _nothing_hangs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Show every thread's stack and end the process when a test hangs."""
    long = any(request.node.get_closest_marker(name) for name in ("e2e", "full"))
    limit_s = _LONGEST_FULL_TEST_S if long else _LONGEST_TEST_S
    faulthandler.dump_traceback_later(limit_s, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True, scope="module")
def _children_measure_coverage_where_it_counts(
    request: pytest.FixtureRequest,
) -> Iterator[None]:
    """Let what a user runs run as fast as there: other tests pass through the same."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name in _AS_A_USER:
            patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield
