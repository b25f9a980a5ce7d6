"""The state of one analysis, and the moves that every part of it shares.

The analysis runs the program on abstract values: straight-line code in order,
both arms of a branch, loop bodies twice, and functions of the files read
wherever they are called. Knowledge about things and shared fields only grows,
so the program is run again until nothing new is learnt, or a fixed number of
times.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._attributes import bind_member, class_member
from otel_specdecode.lint._frames import Env, Frame
from otel_specdecode.lint._iteration import is_per_token
from otel_specdecode.lint._ledger import Ledger
from otel_specdecode.lint._relevance import touches
from otel_specdecode.lint._values import (
    UNKNOWN,
    Definition,
    Step,
    Thing,
    Value,
    join,
    with_step,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from otel_specdecode.lint._modules import Module
    from otel_specdecode.lint.facts import Facts


MAX_DEPTH = 24
"""Calls within calls that are followed."""
MAX_IMPORT_DEPTH = 4
MAX_DISTANT_MODULES = 40
"""Files that only imported files import: else a package is run whole for each file."""

_COMPOUND = (
    ast.If, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor,
    ast.While, ast.Match,
)  # fmt: skip
_HOLDERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *_COMPOUND)
"""Statements that are functions, or may hold some."""


class Machine(Ledger):
    """One analysis of a file and of the files it imports.

    Attributes:
        facts: what was found so far.
        carriers: functions that hand on what came from a stream.
        hot_lines: only functions with one of these lines are run; `None` for all.
        left_out: what was not run in this round for that reason.
        is_cut_short: something else was not run that another round may run.
    """

    def __init__(
        self,
        expressions: Mapping[type[ast.AST], Callable[..., Value]],
        statements: Mapping[type[ast.AST], Callable[..., bool]],
        invoke: Callable[..., Value],
        run_unknown: Callable[..., None],
        assign: Callable[..., None],
    ) -> None:
        self.expressions = expressions
        self.statements = statements
        self.invoke_thing = invoke
        self.run_unknown = run_unknown
        self.assign_target = assign
        super().__init__()
        self.globals: dict[Module, Env] = {}
        self.memo: dict[tuple[object, ...], Value] = {}
        self.earlier: dict[tuple[object, ...], Value] = {}
        self.appends: dict[ast.AugAssign, ast.Call] = {}
        self.called: set[ast.AST] = set()
        self.constants: dict[ast.Constant, Value] = {}
        self.operations: dict[ast.AST, ast.BinOp] = {}
        self.called_modules: set[Module] = set()
        self.carriers: set[str] = set()
        self.depth = 0
        self.num_nested = 0
        self.num_distant = 0
        self.budget = 0
        self.is_cut_short = False
        self.growth_before: int = 0
        self.hot_lines: list[int] | None = None
        self.left_out: list[ast.stmt] = []
        self.find_module: Callable[[Module, str, int], Module | None] = (
            lambda _module, _name, _level: None
        )

    def begin_round(self, budget: int) -> None:
        """Forget what may have changed; keep what things are known to hold."""
        self.growth_before = self.growth
        self.budget = budget
        self.memo.clear()
        self.called.clear()
        self.called_modules.clear()
        self.num_distant = 0
        self.is_cut_short = False
        self.left_out.clear()
        self.reads.clear()
        self.seen_rates.clear()
        self.facts.requests.clear()
        self.facts.publications.clear()

    def is_settled(self) -> bool:
        """Whether another round would do and find what this one did."""
        return self.growth == self.growth_before or not (
            self.is_cut_short or self.reads.are_outdated()
        )

    def outcome(self) -> Facts:
        """The facts that the last round still found; the machine is spent after it."""
        for number in set(self.facts.rates) - self.seen_rates:
            del self.facts.rates[number]
        self.facts.has_stream = self.has_stream
        self._let_go()
        return self.facts

    def _let_go(self) -> None:
        """Break the circles of things and definitions, which hold whole trees.

        Without circles all of it is freed at once, and no collector has to look for it.
        """
        self.reads.clear()
        for thing in self.things.values():
            thing.clear()
        for env in self.globals.values():
            env.clear()

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression may be."""
        handler = self.expressions.get(type(node))
        return handler(self, node, frame) if handler else UNKNOWN

    def execute(self, body: Iterable[ast.stmt], frame: Frame) -> bool:
        """Run statements; false if control never reaches the end."""
        for node in body:
            self.budget -= 1
            if self.budget <= 0:
                self.is_cut_short = True
                return True
            handler = self.statements.get(type(node))
            if handler is not None and not handler(self, node, frame):
                return False
        return True

    def may_call(self) -> bool:
        """Whether there is room for one more call."""
        self.is_cut_short = self.is_cut_short or self.budget <= 0
        return self.budget > 0 and self.depth < MAX_DEPTH

    def globals_of(self, module: Module) -> Env:
        """The top-level names of a module; running it fills them."""
        env = self.globals.get(module)
        if env is None:
            env = self.globals[module] = {}
        return env

    def lookup(self, name: str, frame: Frame) -> Value:
        """What a name may be."""
        found = frame.env.get(name)
        if found is not None and name not in frame.outer_names:
            return found
        for env in reversed(frame.scope):
            if name in env:
                return env[name]
        names = self.globals_of(frame.module)
        found = names.get(name)
        self.reads.entries.append((names, name, found))
        return Value(path=name) if found is None else found

    def inner_scope(self, frame: Frame) -> tuple[Env, ...]:
        """The scopes that a function defined here can see, globals left out."""
        if frame.node is None or isinstance(frame.node, ast.ClassDef):
            return frame.scope
        return (*frame.scope, frame.env)

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Bind a target to a value."""
        self.assign_target(self, target, value, frame)

    def operation(self, node: ast.AugAssign) -> ast.BinOp:
        """The operation that an augmented assignment performs."""
        made = self.operations.get(node)
        if made is None:
            left = ast.copy_location(_load(node.target), node.target)
            made = ast.copy_location(ast.BinOp(left, node.op, node.value), node)
            self.operations[node] = made
        return made

    def appending(self, node: ast.AugAssign) -> ast.Call:
        """`received.append(x)`, which `received += [x]` is."""
        made = self.appends.get(node)
        if made is None:
            added = node.value.elts if isinstance(node.value, ast.List) else []
            method = ast.Attribute(_load(node.target), "append", ast.Load())
            made = ast.Call(ast.copy_location(method, node), added, [])
            made = self.appends[node] = ast.copy_location(made, node)
        return made

    def quotient(self, node: ast.Call) -> ast.BinOp:
        """The division that a call of `truediv` performs."""
        made = self.operations.get(node)
        if made is None:
            made = ast.BinOp(node.args[0], ast.Div(), node.args[1])
            made = self.operations[node] = ast.copy_location(made, node)
        return made

    def imported(self, frame: Frame, base: str, name: str, level: int) -> Value:
        """What `from base import name` binds."""
        inner = self.find_module(
            frame.module, f"{base}.{name}" if base else name, level
        )
        if inner is not None and inner is not frame.module:
            return self.module_value(inner, frame)
        module = self.find_module(frame.module, base, level) if base or level else None
        if module is not None and module is not frame.module:
            self.run_module(module)
            found = self.globals_of(module).get(name)
            if found is not None:
                return found
        return Value(path=f"{base}.{name}" if base else name)

    def module_value(self, module: Module, frame: Frame) -> Value:
        """A module as an object with its globals for attributes."""
        self.run_module(module)
        thing = self.thing("class", module, frame)
        thing.definition = Definition(None, module, members=self.globals_of(module))
        return Value(things=frozenset({thing}))

    def run_module(self, module: Module) -> None:
        """Run a module's top level once a round."""
        if module in self.called_modules or self.num_nested > MAX_IMPORT_DEPTH:
            return
        self.num_distant += self.num_nested > 1
        if self.num_distant > MAX_DISTANT_MODULES:
            return
        self.called_modules.add(module)
        self.num_nested += 1
        self.depth += 1
        frame = Frame(module, self.globals_of(module))
        # Half is kept for the functions that the top level does not call.
        spare = self.budget // 2
        self.budget -= spare
        for statement in module.tree.body:
            # Also after a `raise`, as in a notebook that is not to be run to its end.
            self.execute((statement,), frame)
        self.budget += spare
        self.depth -= 1
        self.num_nested -= 1

    def run_uncalled(self, body: Iterable[ast.stmt], frame: Frame) -> None:
        """Run the functions defined here that nothing read so far calls."""
        lines = self.hot_lines
        for node in body:
            if not isinstance(node, _HOLDERS):
                continue
            # A function within a running one shares its variables, so it is run too.
            if lines is not None and frame.node is None and not touches(node, lines):
                self.left_out.append(node)
                continue
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node not in self.called:
                    self.run_unknown(self, self.lookup(node.name, frame), frame)
                if node not in self.called:  # the name is another's by now
                    self.run_unknown(self, self._made_by(node, "function"), frame)
            elif isinstance(node, ast.ClassDef):
                self._run_methods(node, frame)
            else:
                for block in _blocks(node):
                    self.run_uncalled(block, frame)

    def run_imported_classes(self, main: Module) -> None:
        """Run the methods of classes from other files whose objects were made here."""
        for key, thing in list(self.things.items()):
            owner = thing.definition.owner if thing.definition else None
            if key[0] != "instance" or owner is None or owner.definition is None:
                continue
            if thing.general is not None:
                continue
            node, module = owner.definition.node, owner.definition.module
            if module is not main and isinstance(node, ast.ClassDef):
                self._run_methods(node, Frame(module, self.globals_of(module)))

    def _made_by(self, node: ast.stmt, kind: str) -> Value:
        """What a definition made, whatever its name stands for now."""
        thing = self.known_thing(kind, node, None)
        return UNKNOWN if thing is None else Value(things=frozenset({thing}))

    def _run_methods(self, node: ast.ClassDef, frame: Frame) -> None:
        value = self._made_by(node, "class")
        definition = self.definition(value, "class")
        if definition is None:
            return
        for method in node.body:
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                if method in self.called:
                    continue
                if (
                    self.hot_lines is not None
                    and method.name != "__init__"
                    and not touches(method, self.hot_lines)
                ):
                    self.left_out.append(method)
                    continue
                named = definition.members.get(method.name, UNKNOWN)
                for member in (named, self._made_by(method, "function")):
                    if method not in self.called:
                        self.run_unknown(self, self._bound(value, member, frame), frame)
            elif isinstance(method, ast.ClassDef):
                self._run_methods(method, Frame(frame.module, definition.members))

    def _bound(self, value: Value, member: Value, frame: Frame) -> Value:
        """A member of a class bound to the instance that stands for it."""
        for thing in value.things:
            return bind_member(self, self.instance_of(thing, frame), member, frame)
        return member

    def instance_of(self, cls: Thing, frame: Frame) -> Thing:
        """The one thing that stands for all objects of a class."""
        instance = self.thing("instance", cls, frame)
        if instance.definition is None and cls.definition is not None:
            instance.definition = Definition(None, cls.definition.module, owner=cls)
        return instance

    def record_of(self, cls: Thing, call: ast.AST, frame: Frame) -> Thing:
        """The object of a class without `__init__` that one call makes.

        Such a class holds results. `Stats` of arrivals and `Stats` of tokens are two
        things, or what names the one would name the other.
        """
        general = self.instance_of(cls, frame)
        record = self.thing("instance", (cls, call, frame.context), frame)
        if record.definition is None:
            record.definition = general.definition
            record.general = general
        return record

    def bound_method(self, value: Value, name: str, frame: Frame) -> Thing | None:
        """A method of an object of a class in these files."""
        for thing in value.things:
            if thing.kind != "instance":
                continue
            member = class_member(thing, name)
            if member is not None:
                for bound in bind_member(self, thing, member, frame).things:
                    return bound
        return None

    def call_method(
        self, value: Value, name: str, frame: Frame, *, pulls: bool = True
    ) -> Value | None:
        """What a method of such an object returns; `None` if it has none."""
        method = self.bound_method(value, name, frame)
        if method is None:
            return None
        where = frame if pulls else Frame(frame.module, {})
        node = method.definition.node if method.definition else None
        return self.invoke(method, node or ast.Pass(), where, [], {})

    def invoke(
        self,
        thing: Thing,
        node: ast.AST,
        frame: Frame,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
    ) -> Value:
        """What calling a thing returns."""
        return self.invoke_thing(self, thing, node, frame, args, kwargs)

    def call_value(
        self,
        value: Value,
        node: ast.AST,
        frame: Frame,
        args: Sequence[Value] = (),
        kwargs: Mapping[str, Value] | None = None,
    ) -> Value:
        """What calling any of the things a value may be returns."""
        out = UNKNOWN
        for thing in value.things:
            if thing.definition is not None:
                out = join(out, self.invoke(thing, node, frame, args, kwargs or {}))
        return out

    def pull(self, frame: Frame, *, strong: bool, steps: tuple[Step, ...] = ()) -> None:
        """Note that a chunk is read here: the loop around turns once per chunk."""
        self.has_stream = True
        self.carriers.add(frame.name)
        loop = frame.loop
        while loop is not None and not loop.can_pull:
            loop = loop.outer
        if loop is None:
            frame.pulled = True
            frame.pulled_strong = frame.pulled_strong or strong
        elif not loop.per_chunk or (strong and not loop.strong):
            loop.per_chunk = True
            loop.strong = loop.strong or strong
            loop.steps = loop.steps or steps

    def count_of(self, value: Value, node: ast.AST, frame: Frame) -> Value | None:
        """The length of a sequence per chunk or token; `None` for others."""
        chunked = [thing for thing in value.things if thing.per_chunk]
        tokens = t.TOKENS if is_per_token(value) else 0
        if not chunked:
            return Value(tokens) if tokens else None
        strong = t.STRONG if any(thing.strong for thing in chunked) else 0
        out = Value(t.COUNT | tokens | strong, steps=value.steps)
        return with_step(out, self.step(node, frame, "one entry per chunk, counted"))

    def definition(self, value: Value, kind: str) -> Definition | None:
        """The first definition of this kind that the value may be."""
        for thing in value.things:
            if thing.kind == kind and thing.definition is not None:
                return thing.definition
        return None


def _load(target: ast.expr) -> ast.expr:
    """The target of an augmented assignment, read instead of written."""
    return target


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for name in ("handlers", "cases"):
        for part in getattr(node, name, ()):
            yield part.body
