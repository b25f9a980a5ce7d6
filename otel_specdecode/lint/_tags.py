"""What the engine knows about a value: one bit for each kind of quantity.

Plain integers, because the evaluator combines them millions of times.
"""

from __future__ import annotations

STREAM = 1 << 0
"""Iterating it gives one item per streamed chunk."""
CHUNK = 1 << 1
"""One item of such a stream, or a part of one."""
PIECE = 1 << 2
"""The text that one chunk carries."""
TEXT = 1 << 3
"""Text of a whole answer."""
WORDS = 1 << 4
"""A list of words."""
COUNT = 1 << 5
"""How many chunks there were."""
CHARS = 1 << 6
"""How many characters or words there were."""
TOKENS = 1 << 7
"""How many tokens there were, from usage, a tokenizer or token ids."""
IDS = 1 << 8
"""A sequence with one entry per token."""
USAGE = 1 << 9
"""The server's usage block."""
CLOCK = 1 << 10
"""A clock reading."""
LATER = 1 << 11
"""Of a clock reading or span: taken once per chunk, so neighbours differ by a gap."""
SPAN = 1 << 12
"""A length of time."""
GAP = 1 << 13
"""A length of time between two neighbouring chunks (goes with `SPAN`)."""
SUMMED = 1 << 14
"""Of a span: the sum of gaps."""
INVERSE = 1 << 15
"""One over a length of time."""
BUCKET = 1 << 16
"""Of a count: chunks within one second, minute or other slot of time."""
ONE = 1 << 17
"""Adds at most one: the number 1, a truth value."""
NUMBER = 1 << 18
"""A number written in the source."""
TRUE = 1 << 19
FALSE = 1 << 20
NONE = 1 << 21
RESPONSE = 1 << 22
"""An HTTP response whose body is a stream of chunks."""
STRONG = 1 << 23
"""The stream is certain, not guessed from how its items are used."""
TOKENIZER = 1 << 24
"""Turns text into tokens."""

QUANTITIES = COUNT | CHARS | TOKENS | SPAN | GAP | CLOCK | INVERSE | STRONG | BUCKET
"""What survives a change of number type: `int(x)`, `round(x)`, `-x`."""
