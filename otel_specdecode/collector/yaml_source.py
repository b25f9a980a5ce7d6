"""Reads YAML so that each value still knows its file and line.

The collector merges several files: maps key by key, while a list, like any other
value, is replaced whole by the later file. What was replaced is kept beside the result,
since that is where configurations go wrong.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import yaml

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

Scalar = str | int | float | bool | None
# Far beyond any configuration: aliases of aliases make billions out of ten lines.
_MAX_NODES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One value of a YAML file.

    Attributes:
        value: a scalar, a list of nodes, or a mapping of key to node.
        file: the file that it stands in.
        line: counted from 1.
        replaced: the list of an earlier file whose place this one took.
    """

    value: Scalar | list[Node] | dict[str, Node]
    file: str
    line: int
    replaced: tuple[Node, ...] = field(default=())

    @property
    def mapping(self) -> Mapping[str, Node]:
        """The mapping that it is, or an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> Sequence[Node]:
        """The list that it is, or an empty one."""
        return self.value if isinstance(self.value, list) else ()

    def get(self, *path: str) -> Node | None:
        """The node below a path of keys; `None` where there is none."""
        node = self
        for key in path:
            below = node.mapping.get(key)
            if below is None:
                return None
            node = below
        return node

    def texts(self) -> list[str]:
        """The strings of a list, other values left out."""
        return [item.value for item in self.items if isinstance(item.value, str)]

    def with_texts(self, change: Callable[[str], str]) -> Node:
        """The same, with each string in it changed."""
        value = self.value
        if isinstance(value, str):
            return replace(self, value=change(value))
        if isinstance(value, list):
            return replace(self, value=[one.with_texts(change) for one in value])
        if isinstance(value, dict):
            below = {key: one.with_texts(change) for key, one in value.items()}
            return replace(self, value=below)
        return self

    def walk(
        self, path: tuple[str, ...] = ()
    ) -> Iterator[tuple[tuple[str, ...], Node]]:
        """This node and all below it, each with its path of keys."""
        yield path, self
        for key, below in self.mapping.items():
            yield from below.walk((*path, key))
        for at, below in enumerate(self.items):
            yield from below.walk((*path, str(at)))


def load(path: Path) -> Node:
    """Reads one YAML (or JSON) file; `-` is standard input.

    Raises:
        ConfigError: it cannot be read, is no YAML, or is no mapping.
    """
    try:
        # Bytes: a mark at their beginning may say that they are UTF-16.
        text = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error
    if tree is None:
        return Node(value={}, file=str(path), line=1)
    if not isinstance(tree, yaml.MappingNode):
        raise ConfigError(f"{path}: expected a mapping of sections")
    try:
        return _Reader(file=str(path)).node(tree)
    except RecursionError as error:
        raise ConfigError(f"{path}: an alias stands inside of what it names") from error


@dataclass(slots=True, kw_only=True)
class _Reader:
    """Turns the tree of one file into nodes."""

    file: str
    _num_nodes: int = 0

    def node(self, tree: yaml.Node) -> Node:
        """The node of a tree.

        Raises:
            ConfigError: it grows without end, or a mapping in it has wrong keys.
        """
        self._num_nodes += 1
        line = tree.start_mark.line + 1
        if self._num_nodes > _MAX_NODES:
            raise ConfigError(f"{self.file}: more than {_MAX_NODES} values")
        value: Scalar | list[Node] | dict[str, Node]
        if isinstance(tree, yaml.MappingNode):
            value = self._pairs(tree)
        elif isinstance(tree, yaml.SequenceNode):
            value = [self.node(one) for one in tree.value]
        else:
            value = _scalar(tree)
        return Node(value=value, file=self.file, line=line)

    def _pairs(self, tree: yaml.MappingNode) -> dict[str, Node]:
        """The keys of a mapping, those that `<<` brings in below its own.

        Raises:
            ConfigError: a key is there twice or is no scalar, which the collector
                refuses too.
        """
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in tree.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(
                    f"{self.file}:{line}: a key is no text; if this is a template, "
                    "check what is rendered from it"
                )
            name = str(key.value)
            if name == "<<":
                below = self.node(value)
                for part in below.items or (below,):
                    merged = {**part.mapping, **merged}
            elif name in own:
                raise ConfigError(
                    f"{self.file}:{line}: the key {name} is there a second time, "
                    f"after line {own[name].line}"
                )
            else:
                own[name] = self.node(value)
        return {**merged, **own}


def _scalar(tree: yaml.Node) -> Scalar:
    loader = yaml.SafeLoader("")
    # Only what YAML itself has; a timestamp stays the text that it was.
    made = loader.construct_object(tree)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # types-PyYAML leaves it untyped
    return (
        made if isinstance(made, str | int | float | bool | None) else str(tree.value)
    )


def merge(first: Node, second: Node) -> Node:
    """`second` over `first`, as the collector merges `--config` after `--config`."""
    if isinstance(first.value, dict) and isinstance(second.value, dict):
        merged = dict(first.value)
        for key, value in second.value.items():
            merged[key] = merge(merged[key], value) if key in merged else value
        return Node(value=merged, file=second.file, line=second.line)
    if isinstance(first.value, list) and isinstance(second.value, list):
        return Node(
            value=second.value,
            file=second.file,
            line=second.line,
            replaced=(*first.replaced, first),
        )
    return second
