"""The text that a simulated model says, as tokens with their exact bytes.

A tape is one long, fixed sequence of tokens. An answer is a stretch of it from a
start that the prompt decides, so that the same prompt gets the same text whether
or not the server speculates, and a chunk costs one slice of prepared JSON.
"""

from __future__ import annotations

import json
import random
from functools import cache

LENGTH = 4096
"""Tokens of a tape before it repeats."""
END_TOKEN_ID = 2
THINK_END_TOKEN_ID = 3
_FIRST_ID = 16

_PROSE = (
    " the, a, of, to, in, and, is, that, it, for, on, as, with, by, at, from, this,"
    " each, one, step, token, model, draft, target, server, answer, guess, check,"
    " cost, load, batch, queue, clock, stream, reader, page, light, water, river,"
    " stone, small, large, quick, slow, early, late, often, never, here, there,"
    " then, when, where, while, because, before, after, keeps, makes, takes, finds,"
    " reads, waits, turns, holds, moves, shows, ly, ing, ed, er, est, ness"
)
_CODE = (
    " def, return, if, else, for, in, while, class, self, not, and, or, is, None,"
    " True, False, import, from, as, with, value, items, index, count, total, key,"
    " result, name, path, line, data, step, token, =, ==, +, -, *, (, ), [, ], {, },"
    " :, ., 0, 1, 2, 10, len, range, print, sum, min, max"
)
_SPLIT_CHARACTERS = "éüñçøß→✓≈λ语数"


class Tape:
    """A fixed token sequence with its text prepared in two forms."""

    def __init__(self, words: str, marks: tuple[str, ...], *, seed: int) -> None:
        pieces = [" " + word.strip() for word in words.split(",")]
        pieces += [word.strip() for word in words.split(",")[::3]]
        pieces += marks
        self._lay(pieces, random.Random(seed))  # noqa: S311 - text, not secrets

    def _lay(self, pieces: list[str], rng: random.Random) -> None:
        """Draw `LENGTH` tokens; a split character is two tokens, one visible."""
        ids: list[int] = []
        texts: list[str] = []
        while len(ids) < LENGTH:
            if rng.random() < 0.03 and len(ids) < LENGTH - 1:
                which = rng.randrange(len(_SPLIT_CHARACTERS))
                first_id = _FIRST_ID + len(pieces) + 2 * which
                ids += [first_id, first_id + 1]
                # Byte-level tokens: no text until the character is whole.
                texts += ["", _SPLIT_CHARACTERS[which]]
            else:
                which = rng.randrange(len(pieces))
                ids.append(_FIRST_ID + which)
                texts.append(pieces[which])
        # Twice over, so that a stretch across the seam is one slice.
        self._ids = ids * 2
        self._texts = texts * 2
        self._text, self._text_at = _joined(self._texts)
        escaped = [json.dumps(text, ensure_ascii=False)[1:-1] for text in self._texts]
        self._json = [piece.encode() for piece in escaped]
        self._json_text = b"".join(self._json)
        self._json_at = [0]
        for piece in self._json:
            self._json_at.append(self._json_at[-1] + len(piece))

    def start_of(self, key: int) -> int:
        """Where the answer to a prompt starts: never inside a character."""
        start = key % LENGTH
        return start + 1 if self._texts[start - 1] == "" else start

    def token_ids(self, start: int, end: int) -> list[int]:
        """Token ids of a stretch."""
        if end - start > LENGTH:
            return self.token_ids(start, start + LENGTH) + self.token_ids(
                start + LENGTH, end
            )
        first = start % LENGTH
        return self._ids[first : first + end - start]

    def token_text(self, at: int) -> str:
        """Text that one token adds; empty for the first half of a character."""
        return self._texts[at % LENGTH]

    def text(self, start: int, end: int) -> str:
        """Text of a stretch, as an incremental detokenizer gives it."""
        if end - start > LENGTH:
            return self.text(start, start + LENGTH) + self.text(start + LENGTH, end)
        first = start % LENGTH
        return self._text[self._text_at[first] : self._text_at[first + end - start]]

    def json_text(self, start: int, end: int) -> bytes:
        """`text`, escaped for the inside of a JSON string."""
        if end - start > LENGTH:
            return self.json_text(start, start + LENGTH) + self.json_text(
                start + LENGTH, end
            )
        first = start % LENGTH
        at = self._json_at
        return self._json_text[at[first] : at[first + end - start]]


class Passage:
    """A given text, in tokens of four characters, said once and not round and round."""

    def __init__(self, text: str) -> None:
        self._texts = [text[at : at + 4] for at in range(0, len(text), 4)]

    @property
    def num_tokens(self) -> int:
        """How many tokens the text has, without an end token."""
        return len(self._texts)

    def token_ids(self, start: int, end: int) -> list[int]:
        """Made-up ids: the text is not of a tape's words."""
        return [_FIRST_ID + at for at in range(start, min(end, self.num_tokens))]

    def token_text(self, at: int) -> str:
        """Text that one token adds."""
        return self._texts[at]

    def text(self, start: int, end: int) -> str:
        """Text of a stretch."""
        return "".join(self._texts[start:end])

    def json_text(self, start: int, end: int) -> bytes:
        """`text`, escaped for the inside of a JSON string."""
        return json.dumps(self.text(start, end), ensure_ascii=False)[1:-1].encode()


def _joined(texts: list[str]) -> tuple[str, list[int]]:
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    return "".join(texts), offsets


@cache
def prose_tape() -> Tape:
    """Open text."""
    return Tape(_PROSE, (".", ",", ".\n\n", ' "', '"', ":", ";"), seed=11)


@cache
def code_tape() -> Tape:
    """Something that looks like a program."""
    return Tape(_CODE, ("\n    ", "\n", "):\n        ", ", ", '"', "()"), seed=12)


def holds_code(prompt: str) -> bool:
    """Whether a prompt looks like it holds a program: cheap, and good enough."""
    return any(
        mark in prompt
        for mark in ("def ", "```", "class ", "return ", "import ", "{\n", "();")
    )
