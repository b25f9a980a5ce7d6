"""A file as the rules see it: text, tree and, on demand, the facts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from otel_specdecode.lint._modules import Module
from otel_specdecode.lint.findings import Finding, Fix

if TYPE_CHECKING:
    from otel_specdecode.lint._values import Step
    from otel_specdecode.lint.facts import Facts


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
    """

    module: Module
    assumes_instrumented: bool = False
    find_module: Callable[[Module, str, int], Module | None] | None = None
    follow_imports: bool = False
    _parents: dict[ast.AST, ast.AST] = field(default_factory=dict[ast.AST, ast.AST])

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return self.module.tree

    @property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree; cheaper than `ast.walk` for the second rule."""
        return self.module.nodes

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
            self.module, self.find_module, follow_imports=self.follow_imports
        )

    @property
    def has_stream(self) -> bool:
        """Whether the flow was analysed and met a stream."""
        return "facts" in self.__dict__ and self.facts.has_stream

    @cached_property
    def bindings(self) -> Bindings:
        """Every expression that a name is bound to, and imports resolved."""
        return Bindings(self.module.tree)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around another, `None` for the module."""
        if not self._parents:
            for outer in ast.walk(self.tree):
                for inner in ast.iter_child_nodes(outer):
                    self._parents[inner] = outer
        return self._parents.get(node)

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


class Bindings:
    """Names of a file: what is assigned to them, and what they import.

    A light companion to the flow analysis, for rules that follow a name back to
    the expressions it was given.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._values: dict[tuple[ast.AST, str], list[ast.expr]] = {}
        self._scopes: dict[ast.AST, ast.AST] = {}
        self._outer: dict[ast.AST, ast.AST] = {}
        self._imports: dict[str, str] = {}
        self._visit(tree)

    def _visit(self, tree: ast.Module) -> None:
        stack: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
        while stack:
            node, scope = stack.pop()
            self._scopes[node] = scope
            self._note(node, scope)
            inner = node if isinstance(node, _Scope) else scope
            if inner is not scope:
                self._outer[inner] = scope
            stack += [(child, inner) for child in ast.iter_child_nodes(node)]

    def _note(self, node: ast.AST, scope: ast.AST) -> None:
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
                    self._bind(target, value, scope)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                self._bind(target, value, scope)
            case _:
                pass

    def _bind(self, target: ast.expr, value: ast.expr, scope: ast.AST) -> None:
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
        scope: ast.AST | None = self._scopes.get(name)
        while scope is not None:
            found = self._values.get((scope, name.id))
            if found:
                return found
            scope = self._outer.get(scope)
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
