"""What a name or a label says that a number counts.

A rate is judged by what its author calls it: `tok/s`, `tpot_ms` and `TPS` claim
tokens, `chunks_per_second` does not. Labels come from variables, keys, format
strings and metric names, in whatever language the author writes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)?")

_TOKEN_WORDS = frozenset(
    "tok toks tps tpot tpots itl itls tg tokps tkps tks tokpersec tpots otps "
    "jeton jetons itps t/s tk/s tok/s".split()
)
_TOKEN_PARTS = ("token", "jeton", "токен", "トークン", "토큰", "令牌", "词元", "詞元")
_NOT_TOKENS = ("tokeni", "detoken", "токениз", "トークナイ", "토크나이")

_OTHER_UNITS = frozenset(
    "chunk chunks event events line lines frame frames packet packets message "
    "messages msg msgs delta deltas piece pieces sse update updates step steps "
    "char chars character characters word words wpm cps byte bytes kb mb kib mib gb "
    "request requests req reqs rps qps fps row rows block blocks segment segments "
    "fragment fragments part parts item items sample samples record records batch "
    "batches prompt prompts turn turns call calls hz chunked interchunk "
    # Spanish, Portuguese, French, German, Italian
    "trozo trozos fragmento fragmentos evento eventos linea lineas línea líneas "
    "pedaco pedaço pedacos pedaços linha linhas morceau morceaux événement "
    "evenement evenements événements ligne lignes bloc blocs stück stücke stueck "
    "stuecke häppchen zeile zeilen ereignis ereignisse zeichen wörter woerter "
    "pezzo pezzi righe riga caracteres palabras mots caractères".split()
)
_OTHER_PARTS = (
    "chunk", "чанк", "кусо", "кусков", "событи", "チャンク", "イベント", "文字",
    "청크", "이벤트", "块", "片段", "事件", "字符", "字数",
)  # fmt: skip

_RATE_WORDS = frozenset(
    "per rate rates speed speeds throughput throughputs tps tpot tokps tkps otps s sec "
    "secs second seconds ps hz min minute velocidad rapidez velocidade vitesse debit "
    "débit geschwindigkeit durchsatz velocita velocità tempo peak tok/s t/s tk/s "
    "tokens/s tokens/sec tok/sec tokens/second token/s token/sec toks/s segundo por "
    "pro sekunde seconde скорость速度 速度 吞吐 속도 スループット".split()
)
_RATE_PARTS = ("persec", "per_s", "/s", "rate", "speed", "throughput", "tps", "velocid")

_TIME_WORDS = frozenset(
    "elapsed duration durations latency latencies seconds secs sec second wall "
    "walltime took taken spent runtime time times dt delta_t interval intervals "
    "window windows total_time ms millis milliseconds us ns minutes span period "
    "uptime t e2e e2el "
    "tiempo tempo temps duree durée dauer zeit laufzeit durata segundos transcurrido "
    "duracion duración время 时间 耗时 用时 時間 시간".split()
)
_WINDOW_WORDS = frozenset("window interval period secs seconds sec horizon".split())

_THROUGHPUT = frozenset(("throughput", "throughputs"))
_SPEEDS = frozenset("speed speeds rate rates".split())
_WRITING = frozenset(
    "decode decoding gen generation output inference llm model".split()
)

_PRICES = frozenset(
    "price prices pricing cost costs usd eur cents dollars euros tariff preis precio "
    "prix".split()
)
_ENERGY = frozenset(
    "energy joule joules watt watts power wh kwh mj kj co2 carbon emissions".split()
)
_ESTIMATES = ("est", "approx", "rough", "guess")

_GROUPS = frozenset(
    "request requests req reqs prompt prompts turn turns call calls message messages "
    "msg item items sample samples record records batch batches row rows".split()
)
_PER_GROUP = re.compile(
    r"(?i)(?<![a-z])per[\s_-]+(?:request|req|prompt|turn|call|message|batch|sample)s?"
    r"(?![a-z])"
)
_INTER_TOKEN = re.compile(r"(?i)inter[\s_-]*token|(?<![a-z])itls?(?![a-z])")


@lru_cache(maxsize=4096)
def words_of(label: str) -> tuple[str, ...]:
    """Lower-case words of an identifier or a text: `tokPerSec` is tok, per, sec."""
    spaced = _CAMEL.sub(" ", label)
    return tuple(word.lower() for word in _WORD.findall(spaced))


@lru_cache(maxsize=4096)
def says_tokens(label: str) -> bool:
    """Whether the label claims tokens."""
    for word in words_of(label):
        if word in _TOKEN_WORDS:
            return True
        if any(part in word for part in _TOKEN_PARTS) and not any(
            part in word for part in _NOT_TOKENS
        ):
            return True
    return False


@lru_cache(maxsize=4096)
def says_tokens_strictly(label: str) -> bool:
    """Whether the label claims tokens by more than the customary word ITL.

    vLLM and others define ITL as the gap between two outputs, so a gap called
    ITL is what it says; a gap called TPOT is not.
    """
    return says_tokens(_INTER_TOKEN.sub(" ", label))


@lru_cache(maxsize=4096)
def says_estimate(label: str) -> bool:
    """Whether the label says that the number is a guess."""
    return any(word.startswith(_ESTIMATES) for word in words_of(label))


@lru_cache(maxsize=4096)
def says_price(label: str) -> bool:
    """Whether an identifier names what something costs."""
    return bool(_PRICES.intersection(words_of(label)))


@lru_cache(maxsize=4096)
def says_energy(name: str) -> bool:
    """Whether an identifier names energy: a time by a power, and no time any more."""
    return not _ENERGY.isdisjoint(words_of(name))


def claims_a_count(label: str) -> bool:
    """Whether the label says how many tokens there were, and not that it guesses."""
    return says_tokens_strictly(label) and not says_estimate(label)


@lru_cache(maxsize=4096)
def says_other_unit(label: str) -> bool:
    """Whether the label names another unit: chunks, events, characters, requests.

    `per request: ` says of what the number is a mean, not what it counts.
    """
    return any(_other_units(label))


def _other_units(label: str) -> Iterator[str]:
    for whole in words_of(_PER_GROUP.sub(" ", label)):
        for word in whole.split("/"):
            if word in _OTHER_UNITS or any(part in word for part in _OTHER_PARTS):
                yield word


@lru_cache(maxsize=4096)
def says_whose(label: str) -> bool:
    """Whether the units in a label are only those that it belongs to: `Request 3: `."""
    return not says_rate(label) and _GROUPS.issuperset(_other_units(label))


@lru_cache(maxsize=4096)
def says_model_speed(label: str) -> bool:
    """Whether the label names how fast a model writes, in whatever unit."""
    words = set(words_of(label))
    return bool(words & _THROUGHPUT) or bool(words & _SPEEDS and words & _WRITING)


@lru_cache(maxsize=4096)
def says_rate(label: str) -> bool:
    """Whether the label names something per time."""
    return any(
        word in _RATE_WORDS or any(part in word for part in _RATE_PARTS)
        for word in words_of(label)
    )


def names_a_rate(function: str) -> bool:
    """Whether a function's name says what the number that it makes or takes counts.

    `tokens_per_second` and `chunk_rate` do; `call`, `send_request` and `emit_event`
    name what is done.
    """
    return says_tokens(function) or says_rate(function)


@lru_cache(maxsize=4096)
def says_time(name: str) -> bool:
    """Whether an identifier names a length of time."""
    return any(word in _TIME_WORDS for word in words_of(name))


@lru_cache(maxsize=4096)
def says_window(name: str) -> bool:
    """Whether an identifier names the length of a window."""
    return any(word in _WINDOW_WORDS for word in words_of(name))
