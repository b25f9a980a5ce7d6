"""The named profiles: one server for each story the demos tell.

Acceptance rates are made up, but of the size that the documents report: MTP as in
the token-counter story (k = 2, 99 %, 128 tokens in about 44 chunks), copying
methods high on code and low on open text.
"""

from __future__ import annotations

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator.profile import Profile, Speculation

PROFILES: tuple[Profile, ...] = (
    Profile(name="plain"),
    Profile(
        name="mtp",
        speculation=Speculation(method="mtp", acceptance_by_position=(0.995, 0.985)),
    ),
    Profile(
        name="ngram",
        speculation=Speculation(
            method="ngram",
            acceptance_by_position=(0.86, 0.76, 0.68, 0.61),
            coverage=0.7,
            min_draft_tokens=2,
            open_text_ratio=0.3,
        ),
    ),
    Profile(
        name="eagle3",
        speculation=Speculation(
            method="eagle3",
            acceptance_by_position=(0.78, 0.56, 0.39),
            open_text_ratio=0.8,
        ),
    ),
    Profile(
        name="suffix",
        speculation=Speculation(
            method="suffix",
            acceptance_by_position=tuple(
                round(0.92 * 0.9**position, 4) for position in range(16)
            ),
            coverage=0.6,
            min_draft_tokens=1,
            open_text_ratio=0.35,
        ),
    ),
    Profile(name="coalescing", stream_interval=4),
)


def named_profile(name: str) -> Profile:
    """Return the profile that `--profile NAME` means.

    Raises:
        SimulatorError: there is none of that name.
    """
    for profile in PROFILES:
        if profile.name == name:
            return profile
    known = ", ".join(profile.name for profile in PROFILES)
    raise SimulatorError(f"profile: expected one of {known}, got {name!r}")
