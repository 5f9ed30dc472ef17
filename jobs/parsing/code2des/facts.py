"""What a language module finds in one file: plain facts, the same for every language.

Lines count from 1. Names are as written; nothing is resolved across files yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Span:
    """First and last line of a definition, decorators included."""

    line: int
    end: int


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One decoded source file."""

    path: str
    language: str
    text: str
    encoding: str
    newline: str
    size_bytes: int
    sha256: str


@dataclass(kw_only=True, slots=True)
class Variable:
    """A parameter or a field; `name` carries * and ** of a variadic parameter."""

    name: str
    type: str | None = None
    default: str | None = None
    doc: str | None = None
    modifiers: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()


@dataclass(kw_only=True, slots=True)
class Import:
    """`module` is empty for a purely relative import; `level` counts its leading dots.

    `name` is None when the module itself is imported; `alias` is the local name it gets.
    """

    module: str
    level: int
    name: str | None
    alias: str
    line: int
    #: imports, includes or copies: the word for the edge in the model
    kind: str = "imports"
    confidence: str = "exact"


@dataclass(kw_only=True, slots=True)
class Call:
    """A call by name; `receiver` is the text before the last dot, None without one."""

    name: str
    receiver: str | None
    line: int
    #: number of arguments, where the language tells overloads apart by it
    arity: int | None = None


@dataclass(kw_only=True, slots=True)
class Function:
    """A function, method or a variable that holds a lambda."""

    name: str
    qualified: str
    owner: str | None
    kind: str
    params: list[Variable]
    returns: str | None
    modifiers: list[str]
    decorators: list[str]
    doc: str | None
    span: Span
    throws: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    #: local name → class name, from annotations and constructor calls
    locals: dict[str, str] = field(default_factory=dict)
    cyclomatic: int = 1
    nesting: int = 0


@dataclass(kw_only=True, slots=True)
class Type:
    """A class or another named type."""

    name: str
    qualified: str
    kind: str
    generics: list[str]
    bases: list[str]
    modifiers: list[str]
    decorators: list[str]
    doc: str | None
    span: Span
    fields: list[Variable] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A route as written at its handler; `router` is the object that it hangs on."""

    method: str
    path: str
    handler: str
    framework: str
    router: str
    line: int
    #: the name by which links ask for the route
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Mount:
    """Routes of another module under a prefix."""

    prefix: str
    module: str


@dataclass(frozen=True, kw_only=True)
class EntryPoint:
    """Something that starts from outside: main, cli or worker. `target` is a qualified name."""

    kind: str
    target: str
    line: int


@dataclass(frozen=True, kw_only=True)
class SqlUse:
    """A statement in a string: what it does (C, R, U or D) to which table, in which function."""

    table: str
    operation: str
    function: str
    line: int


@dataclass(kw_only=True, slots=True)
class Element:
    """A part of a user interface as written: heading, form, field, link or use of a component.

    `owner` is the component that it belongs to, empty for a file that is one screen; `text` are
    the words inside; `form` is the number of the form around it, counted from 1 in its file;
    `end` is its last line where that is known.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    owner: str = ""
    text: str = ""
    form: int = 0
    end: int = 0


@dataclass(frozen=True, kw_only=True)
class Render:
    """A function that shows a template, both by name."""

    template: str
    function: str


@dataclass(kw_only=True)
class Column:
    """A column of a table."""

    name: str
    type: str | None = None
    null: bool | None = None
    key: str | None = None
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True, kw_only=True)
class ForeignKey:
    """A reference to `table` or, when that is empty, to the table of the class `entity`."""

    column: str
    table: str = ""
    target: str = ""
    entity: str = ""


@dataclass(kw_only=True)
class Table:
    """A table or view that DDL or a mapped class declares; `type` is the class."""

    name: str
    source: str
    kind: str = "table"
    type: str | None = None
    comment: str | None = None
    columns: list[Column] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    line: int = 1


@dataclass(frozen=True, kw_only=True)
class Link:
    """An edge that a language states by name: CALL of a program, PERFORM of a section."""

    kind: str
    start: str
    end: str
    confidence: str
    line: int


@dataclass(kw_only=True)
class FileFacts:
    """All facts of one file. `toplevel` holds the calls outside functions."""

    source: SourceFile
    doc: str | None = None
    #: name of the package, namespace or module that the file declares
    package: str | None = None
    #: names of types and receivers that the file mentions → line of the first mention
    words: dict[str, int] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    #: what a grammar of another version could not be asked
    unasked: list[str] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    toplevel: list[Call] = field(default_factory=list)
    #: name of a module-level variable → class name of its constructor call
    globals: dict[str, str] = field(default_factory=dict)
    #: router variable → prefix of its routes
    prefixes: dict[str, str] = field(default_factory=dict)
    endpoints: list[Endpoint] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    entry_points: list[EntryPoint] = field(default_factory=list)
    sql: list[SqlUse] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    renders: list[Render] = field(default_factory=list)
    code_lines: int = 0
    comment_lines: int = 0
    error_nodes: int = 0
    error_line: int | None = None
