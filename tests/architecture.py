"""The rules of the house as functions: a folder of sources in, a list of violations out (empty: all is well)."""

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PURE = (
    *("errors", "preview", "events", "commands", "plan", "repo_config", "source", "buildpacks", "policy", "names"),
    *("redaction", "comments", "readiness", "diagnosis", "manifest", "plan_text", "plan_json", "output"),
)
PURE_LIBRARIES = {"pydantic": None, "markdown_it": {"bot.commands"}, "yaml": {"bot.source"}}
"""What pure rooms may import beside the standard library: anybody (None), or these."""
IMPURE = {
    *("asyncio", "http", "logging", "multiprocessing", "os", "random", "secrets", "shutil", "signal", "socket"),
    *("sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib.request"),
}
IMPURE_CALLS = {"open", "input", "print", "read_text", "read_bytes", "write_text", "write_bytes", "now", "today"}
OWNERS = {
    "vercel": ("bot.sandbox",),
    "github": ("bot.github",),
    "dbos": ("bot.workflow",),
    "sqlalchemy": (
        "bot.store",
        "bot.tables",
        "bot.previews",
        "bot.decisions",
        "bot.inbox",
        "bot.executors",
        "bot.migrations",
    ),
    "alembic": ("bot.store", "bot.migrations"),
    "litestar": ("webhooks", "bot.engine", "bot.forge"),
    "uvicorn": ("webhooks", "bot.engine", "bot.forge"),
}
ANNEXES = ("bot.engine", "bot.forge")
COMPOSITION_ROOTS = ("bot.cli", "bot.operator")
KNOW_THE_ANNEXES = ("bot.cli", "bot.doctor")
LONGEST, LONGEST_MEDIAN = 300, 160
PLACES = {"local", "localhost", "loopback", "laptop", "demo"}


@dataclass(frozen=True, slots=True)
class Import:
    """One import: the full names that it may bring in, and where it stands."""

    names: tuple[str, ...]
    line: int
    in_function: bool
    for_types: bool

    def within(self, *packages: str) -> bool:
        """Whether it brings in one of these packages, or something in them."""
        return any(inside(name, package) for name in self.names for package in packages)


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Parsed."""
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All of them, those within functions included."""
        return tuple(_imports(self.tree, in_function=False, for_types=False))


def modules(top: Path, *packages: str) -> list[Module]:
    """Every source file of these packages."""
    found = []
    for package in packages:
        for path in sorted((top / package).rglob("*.py")):
            parts = path.relative_to(top).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if not name.startswith("bot.samples."):
                found.append(Module(name, path.read_text()))
    return found


def inside(name: str, package: str) -> bool:
    """Whether a module is that package or lies in it."""
    return name == package or name.startswith(package + ".")


def _imports(node: ast.AST, *, in_function: bool, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield Import(tuple(alias.name for alias in child.names), child.lineno, in_function, for_types)
        elif isinstance(child, ast.ImportFrom):
            names = (child.module or "", *(f"{child.module}.{alias.name}" for alias in child.names))
            yield Import(names, child.lineno, in_function, for_types)
        else:
            deeper = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _imports(child, in_function=deeper, for_types=for_types or typing)


def wrong_directions(sources: list[Module]) -> list[str]:
    """webhooks -> bot; annexes know nobody; who knows an annex, or the web, is named above."""
    found = []
    for module in sources:
        annex = next((annex for annex in ANNEXES if inside(module.name, annex)), None)
        for each in module.imports:
            if annex:
                strangers = [n for n in each.names if n != "bot" and inside(n, "bot") and not inside(n, annex)]
                wrong = bool(strangers) or each.within("webhooks")
            elif each.within(*ANNEXES):
                wrong = module.name not in KNOW_THE_ANNEXES
            else:
                root = module.name in COMPOSITION_ROOTS and each.in_function
                wrong = each.within("webhooks") and not inside(module.name, "webhooks") and not root
            if wrong:
                found.append(f"{module.name}:{each.line} imports {each.names[0]}")
    return found


def impurities(sources: list[Module]) -> list[str]:
    """What pure rooms import or call and must not: I/O, a clock, chance, the environment, rooms that are not pure."""
    rooms = tuple(f"bot.{room}" for room in PURE)
    found = []
    for module in sources:
        if not any(inside(module.name, room) for room in rooms):
            continue
        for each in module.imports:
            name = each.names[0]
            package = name.partition(".")[0]
            if package == "bot":
                wrong = not all(any(inside(n, room) for room in rooms) for n in each.names if n != "bot")
            elif package in PURE_LIBRARIES:
                allowed = PURE_LIBRARIES[package]
                wrong = allowed is not None and module.name not in allowed
            else:
                wrong = package not in sys.stdlib_module_names or each.within(*IMPURE)
            if wrong:
                found.append(f"{module.name}:{each.line} imports {name}")
        found += [f"{module.name}:{line} calls {name}" for name, line in _calls(module.tree) if name in IMPURE_CALLS]
    return found


def _calls(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            yield name, node.lineno


def intruders(sources: list[Module]) -> list[str]:
    """Who imports a library that another file owns."""
    return [
        f"{module.name}:{each.line} imports {library}"
        for module in sources
        for each in module.imports
        for library, owners in OWNERS.items()
        if each.within(library) and not any(inside(module.name, owner) for owner in owners)
    ]


def circles(sources: list[Module]) -> list[str]:
    """Modules that cannot be imported without one another, as far as module level goes."""
    known = {module.name for module in sources}
    needs = {
        module.name: {
            name
            for each in module.imports
            if not each.in_function and not each.for_types
            for name in each.names
            if name in known and name != module.name and not inside(module.name, name)
        }
        for module in sources
    }
    while free := [name for name, needed in needs.items() if not needed]:
        for name in free:
            del needs[name]
        needs = {name: needed - set(free) for name, needed in needs.items()}
    return sorted(f"{name} needs {', '.join(sorted(needed))}" for name, needed in needs.items())


def too_long(sources: list[Module]) -> list[str]:
    """Files over the budget, and the median if that is."""
    lengths = {module.name: len(module.text.splitlines()) for module in sources}
    found = [f"{name} has {length} lines" for name, length in lengths.items() if length > LONGEST]
    median = statistics.median(lengths.values())
    return [*found, f"the median file has {median:.0f} lines"] if median > LONGEST_MEDIAN else found


def asks_where_it_runs(sources: list[Module]) -> list[str]:
    """Conditions that look at whether this is a laptop, a demo or the real thing. Annexes are local by nature."""
    found = []
    for module in sources:
        if any(inside(module.name, annex) for annex in ANNEXES):
            continue
        for node in ast.walk(module.tree):
            tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else getattr(node, "ifs", [])
            asked = PLACES & {word for test in tests for word in _words(test)}
            if asked:
                found.append(f"{module.name}:{tests[0].lineno} asks for {', '.join(sorted(asked))}")
    return found


def _words(test: ast.AST) -> Iterator[str]:
    """The words of the names in a condition, and its texts that are one word."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name | ast.Attribute):
            yield from (node.id if isinstance(node, ast.Name) else node.attr).lower().split("_")
        elif isinstance(node, ast.Constant):
            yield str(node.value).lower()


def machine_paths(top: Path, *names: str) -> list[str]:
    """Files that mention a path of the machine on which they were written."""
    sign = re.compile(r"(?<![\w.~/-])/(?:work|root)/|\.\./" + "shared")
    files = [path for name in names for path in (top / name, *(top / name).rglob("*")) if path.is_file()]
    texts = [path for path in files if not {"__pycache__", "node_modules"} & set(path.parts)]
    return [str(path.relative_to(top)) for path in sorted(texts) if sign.search(path.read_text("utf-8", "replace"))]


def diagram_of(markdown: str) -> set[tuple[str, str]]:
    """The arrows of the state diagram in a Markdown file; where it begins and ends (`[*]`) is left out."""
    block = re.search(r"```mermaid\s*\n\s*stateDiagram-v2\n(.*?)```", markdown, re.DOTALL)
    arrows = re.findall(r"^\s*(\w+)\s*-->\s*(\w+)", block[1] if block else "", re.MULTILINE)
    return {(start, end) for start, end in arrows}
