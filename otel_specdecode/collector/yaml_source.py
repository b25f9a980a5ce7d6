"""Reads YAML so that each value still knows its file and line.

The collector merges several files: maps key by key, while a list, like any other
value, is replaced whole by the later file. What was replaced is kept beside the result,
since that is where configurations go wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

Scalar = str | int | float | bool | None


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
    """Reads one YAML (or JSON) file.

    Raises:
        ConfigError: it cannot be read, or is no YAML.
    """
    try:
        text = path.read_text("utf-8")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    if tree is None:
        return Node(value={}, file=str(path), line=1)
    return _node(tree, str(path))


def _node(tree: yaml.Node, file: str) -> Node:
    line = tree.start_mark.line + 1
    if isinstance(tree, yaml.MappingNode):
        pairs = {str(key.value): _node(value, file) for key, value in tree.value}
        return Node(value=pairs, file=file, line=line)
    if isinstance(tree, yaml.SequenceNode):
        return Node(
            value=[_node(one, file) for one in tree.value], file=file, line=line
        )
    return Node(value=_scalar(tree), file=file, line=line)


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
