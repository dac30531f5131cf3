"""What a package.json script really runs: wrappers taken off, references to other scripts followed.

Nothing here is ever run by a shell. shlex splits a script into words; a line that it cannot split is split at blanks.
"""

import fnmatch
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_EXECUTORS = frozenset({"npx", "bunx", "pnpx", "cross-env", "cross-env-shell", "env", "dotenvx", "env-cmd", "exec",
                        "better-npm-run", "nodenv", "infisical", "doppler", "op", "varlock"})  # fmt: skip
_PARALLEL = frozenset({"concurrently", "conc", "run-p", "run-s", "npm-run-all", "npm-run-all2", "wireit", "mprocs"})
_OWN_VERBS = frozenset({"install", "i", "ci", "add", "workspace", "workspaces", "dlx", "create", "init", "config"})
_MOST_LINES = 200
_LONGEST_LINE = 4000


@dataclass(frozen=True, slots=True)
class Command:
    """One command that a script comes to: its words, and the variables set in front of it."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The program, without a folder in front."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def delegated(self) -> str | None:
        """The name or folder of the package that the command hands over to, `*` when it names none."""
        return _delegate(self.words)


def unfold(scripts: Mapping[str, str], name: str) -> list[Command]:
    """Every command that `npm run name` would come to, in order. A line is followed once, and at most 200 are."""
    return list(_follow(scripts, scripts.get(name, ""), {}, set()))


def _follow(scripts: Mapping[str, str], line: str, env: Mapping[str, str], seen: set[str]) -> Iterator[Command]:
    if line in seen or len(seen) >= _MOST_LINES:
        return
    seen.add(line)
    for words in _split(line):
        command = _unwrap(words, env)
        referred = list(_references(scripts, command.words))
        for text in referred:
            yield from _follow(scripts, text, command.env, seen)
        if not referred and command.words:
            yield command


def _split(line: str) -> list[list[str]]:
    """The commands of a line, cut at `&&`, `||`, `;`, `|` and `&`."""
    lexer = shlex.shlex(line[:_LONGEST_LINE], posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        words = line[:_LONGEST_LINE].split()
    commands: list[list[str]] = [[]]
    for word in words:
        if word and not word.strip(";&|"):
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def _unwrap(words: list[str], env: Mapping[str, str]) -> Command:
    """Take off assignments and the programs that only run another one."""
    env, rest = dict(env), list(words)
    while rest:
        head = rest[0].rpartition("/")[2]
        if _ASSIGNMENT.match(rest[0]):
            key, _, value = rest.pop(0).partition("=")
            env[key] = value
        elif head == "dotenv" or (head in _EXECUTORS and len(rest) > 1):
            rest = _after_options(rest[1:])
        elif head in _MANAGERS and len(rest) > 2 and rest[1] in ("exec", "x", "dlx"):
            rest = _after_options(rest[2:])
        elif head == "nodemon" and ("--exec" in rest or "-x" in rest):
            at = rest.index("--exec" if "--exec" in rest else "-x")
            rest = " ".join(rest[at + 1 :]).split()
        else:
            break
    return Command(tuple(rest), env)


def _after_options(words: list[str]) -> list[str]:
    """What a wrapper runs: the words after `--`, or after its leading options (`-e FILE` takes a word)."""
    if "--" in words and words[0].startswith("-"):
        return words[words.index("--") + 1 :]
    while words and words[0].startswith("-"):
        takes_value = words[0] in ("-e", "-f", "-p", "-c", "--package", "--env-file") and len(words) > 2
        words = words[2 if takes_value else 1 :]
    return words[1:] if words and words[0] in ("run", "--") else words


def _references(scripts: Mapping[str, str], words: tuple[str, ...]) -> Iterator[str]:
    """The lines of the scripts that a command names."""
    if not words:
        return
    tool = words[0].rpartition("/")[2]
    if tool in _PARALLEL:
        yield from _parallel(scripts, words)
        return
    named = _named_script(tool, words)
    if named and named in scripts:
        # `pnpm with-env next dev` hands the words behind the name on to the script.
        yield " ".join([scripts[named], *map(shlex.quote, words[words.index(named) + 1 :])])


def _named_script(tool: str, words: tuple[str, ...]) -> str | None:
    if tool == "node" and "--run" in words[:-1]:
        return words[words.index("--run") + 1]
    if tool not in _MANAGERS:
        return None
    plain = [word for word in words[1:] if not word.startswith("-")]
    if plain and plain[0] in ("run", "run-script"):
        return plain[1] if len(plain) > 1 else None
    if _delegate(words):
        return None
    return plain[0] if plain and plain[0] not in _OWN_VERBS else None


def _parallel(scripts: Mapping[str, str], words: tuple[str, ...]) -> Iterator[str]:
    """The lines of `concurrently "a" npm:b`, `run-p a b:*` and their like."""
    by_name = words[0].rpartition("/")[2] not in ("concurrently", "conc", "mprocs")
    for word in words[1:]:
        prefix, colon, rest = word.partition(":")
        pattern = rest if colon and prefix in _MANAGERS | {"node"} else word if by_name else None
        if pattern is None:
            if " " in word or not word.startswith("-"):
                yield word
        else:
            yield from (scripts[name] for name in fnmatch.filter(scripts, pattern.split(" ")[0]))


_FILTERS = frozenset({"--filter", "-F", "--workspace", "-w", "--prefix", "--cwd", "-C", "--dir", "--scope"})


def _delegate(words: tuple[str, ...]) -> str | None:
    tool = words[0].rpartition("/")[2] if words else ""
    if tool == "cd" and len(words) > 1:
        return words[1]
    if tool == "yarn" and len(words) > 2 and words[1] == "workspace":
        return words[2]
    if tool not in _MANAGERS | {"turbo", "nx", "lerna", "rush", "moon", "wsrun", "ultra"}:
        return None
    for here, after in zip(words, (*words[1:], ""), strict=True):
        flag, equals, value = here.partition("=")
        if flag in _FILTERS:
            return (value if equals else after).rstrip(".") or "*"
    if tool == "nx" and len(words) > 2 and not words[2].startswith("-"):
        return words[2]
    everywhere = {"-r", "--recursive", "--workspaces", "workspaces"} & set(words)
    return "*" if tool not in _MANAGERS or everywhere else None
