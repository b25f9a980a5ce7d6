"""A file as the rules see it: text, tree and, on demand, the facts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from otel_specdecode.lint._fields import field_name
from otel_specdecode.lint._modules import Module
from otel_specdecode.lint.findings import Finding, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint._values import Step
    from otel_specdecode.lint.facts import Facts

Node = TypeVar("Node", bound=ast.AST)

_INSTRUMENTS = re.compile(r"SpecDecodeInstrumentor\(\)\s*\.\s*instrument\(")


def instruments(text: str) -> bool:
    """Whether a file instruments every client of its process."""
    return "SpecDecodeInstrumentor" in text and bool(_INSTRUMENTS.search(text))


@dataclass
class Source:
    """A parsed file.

    Attributes:
        module: path, text and tree.
        assumes_instrumented: another file of the run, or the configuration, says
            that usage is asked for in every stream.
        find_module: resolves an import to another file of the run.
        follow_imports: the file imports one that streams: look there at once.
        only_streams: no rule that is run finds anything where there is no stream.
        find_declared: as `find_module`, files that only declare classes included.
    """

    module: Module
    assumes_instrumented: bool = False
    find_module: Callable[[Module, str, int], Module | None] | None = None
    follow_imports: bool = False
    only_streams: bool = False
    find_declared: Callable[[Module, str, int], Module | None] | None = None

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return self.module.tree

    def nodes(self, *kinds: type[Node]) -> Iterator[Node]:
        """The nodes of these classes."""
        for kind in kinds:
            yield from cast("list[Node]", self.module.nodes.get(kind, ()))

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Calls by the name of what they call: `f` of `f()` and of `x.f()`."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.nodes(ast.Call):
            found.setdefault(field_name(call.func), []).append(call)
        return found

    @property
    def text(self) -> str:
        """The source text."""
        return self.module.text

    @cached_property
    def is_instrumented(self) -> bool:
        """Whether usage is asked for without the request saying so."""
        return self.assumes_instrumented or instruments(self.text)

    @cached_property
    def facts(self) -> Facts:
        """What the flow analysis found; run at the first use."""
        from otel_specdecode.lint._analysis import analyse

        return analyse(
            self.module,
            self.find_module,
            follow_imports=self.follow_imports,
            only_streams=self.only_streams,
        )

    @property
    def has_stream(self) -> bool:
        """Whether the flow was analysed and met a stream."""
        return "facts" in self.__dict__ and self.facts.has_stream

    @cached_property
    def bindings(self) -> Bindings:
        """Every expression that a name is bound to, and imports resolved."""
        return Bindings(self.module)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around another, `None` for the module."""
        return self.module.parents.get(node)

    def finding(
        self,
        code: str,
        node: ast.AST,
        message: str,
        *,
        module: Module | None = None,
        steps: tuple[Step, ...] = (),
        fix: Fix | None = None,
    ) -> Finding:
        """A finding at a node of this file, or of another that it imports."""
        where = module or self.module
        line = getattr(node, "lineno", 1)
        column = where.character_column(line, getattr(node, "col_offset", 0))
        end_line = getattr(node, "end_lineno", None) or line
        end_offset = getattr(node, "end_col_offset", None) or 0
        return Finding(
            code=code,
            message=message,
            path=where.path,
            line=line,
            column=column + 1,
            end_line=end_line,
            end_column=where.character_column(end_line, end_offset) + 1,
            steps=steps,
            fix=fix,
        )


_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Module
_BINDERS = (
    ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign,
    ast.NamedExpr,
)  # fmt: skip


class Bindings:
    """Names of a file: what is assigned to them, and what they import.

    A light companion to the flow analysis, for rules that follow a name back to
    the expressions it was given.
    """

    def __init__(self, module: Module) -> None:
        self._parents = module.parents
        self._values: dict[tuple[ast.AST | None, str], list[ast.expr]] = {}
        self._imports: dict[str, str] = {}
        for kind in _BINDERS:
            for node in module.nodes.get(kind, ()):
                self._note(node)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    self._imports[bound] = alias.name if alias.asname else bound
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    prefix = f"{module}." if module else ""
                    self._imports[alias.asname or alias.name] = prefix + alias.name
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value, self.scope_of(node))
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                self._bind(target, value, self.scope_of(node))
            case _:
                pass

    def scope_of(self, node: ast.AST) -> ast.AST | None:
        """The function or class around a node; `None` beyond the module."""
        outer = self._parents.get(node)
        while outer is not None and not isinstance(outer, _Scope):
            outer = self._parents.get(outer)
        return outer

    def is_within(self, node: ast.AST, scope: ast.AST | None) -> bool:
        """Whether a node stands in a scope, or in one inside it."""
        inner = self.scope_of(node)
        while inner is not None and inner is not scope:
            inner = self.scope_of(inner)
        return inner is scope

    def _bind(self, target: ast.expr, value: ast.expr, scope: ast.AST | None) -> None:
        if isinstance(target, ast.Name):
            self._values.setdefault((scope, target.id), []).append(value)
        elif (
            isinstance(target, ast.Tuple | ast.List)
            and isinstance(value, ast.Tuple | ast.List)
            and len(target.elts) == len(value.elts)
        ):
            for part, given in zip(target.elts, value.elts, strict=True):
                self._bind(part, given, scope)

    def values_of(self, name: ast.Name) -> list[ast.expr]:
        """Every expression assigned to a name, in the nearest scope that does."""
        scope = self.scope_of(name)
        while scope is not None:
            found = self._values.get((scope, name.id))
            if found:
                return found
            scope = self.scope_of(scope)
        return []

    def qualified(self, node: ast.expr) -> str:
        """Dotted name with imports resolved: `np.mean` is `numpy.mean`.

        Empty for what is not a plain dotted name.
        """
        if isinstance(node, ast.Name):
            return self._imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            inner = self.qualified(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        return ""
