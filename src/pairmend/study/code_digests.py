"""Digests of the code that results depend on.

Modules outside of installed packages are digested with all modules that they import, as far as
these are outside of installed packages, too. An installed package is named by its version; one
that is installed in editable form counts as a module of one's own. Digests are made of syntax
trees, so comments and layout may change. Modules that are imported by computed names are not
found, nor are data files that code reads.
"""

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from pairmend.study.objects import PLAIN, Uninstantiated

INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages."""


@dataclass
class Code:
    """Digests of the modules and versions of the packages that an object's results depend on."""

    modules: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)


def codes_of(parts: Mapping[str, Any]) -> dict[str, Code]:
    """Return the code that each object depends on."""
    _places.cache_clear()  # files may have been added or moved since the last call
    return {name: _code_of(value) for name, value in parts.items()}


def _code_of(value: Any) -> Code:
    found = Code()
    modules: list[str] = []
    for definition in _definitions(value):
        if definition.__module__ == "__main__":
            modules += _digest_main(definition, found.modules)
        else:
            modules.append(definition.__module__)
    _add_modules(modules, found)
    return found


def changed_code(old: Mapping[str, str], new: Mapping[str, str], place: str) -> list[str]:
    """Return a line for each module whose code differs."""
    lines = []
    for name in sorted({*old, *new}):
        if name not in new:
            lines.append(f"{place}: the module {name} was used, but is not used here")
        elif name not in old:
            lines.append(f"{place}: the module {name} is new")
        elif old[name] != new[name]:
            lines.append(f"{place}: the code of the module {name} changed")
    return lines


def _definitions(value: Any) -> Iterator[Any]:
    """Yield the classes and functions that an object is made of."""
    if isinstance(value, PLAIN):
        return
    if isinstance(value, Uninstantiated):
        yield from _definitions([value.type, value.params])
    elif isinstance(value, Mapping):
        yield from _definitions(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _definitions(part)
    elif isinstance(value, functools.partial):
        yield from _definitions([value.func, value.args, value.keywords])
    elif isinstance(value, MethodType):
        yield from _definitions([value.__func__, value.__self__])
    elif hasattr(value, "__qualname__") and getattr(value, "__module__", None):
        yield value
    elif type(value).__module__ != "builtins":
        yield type(value)
        if hasattr(value, "get_params"):
            yield from _definitions(value.get_params(deep=False))


def _add_modules(names: Iterable[str], found: Code) -> None:
    """Add modules, and the modules that they import, to `found`."""
    left, seen = list(names), set[str]()
    while left:
        name = left.pop()
        top = name.partition(".")[0]
        if name in seen or top in sys.stdlib_module_names:
            continue
        seen.add(name)
        if _is_installed(top):
            found.packages |= _versions(top)
            continue
        path = _file_of(name)
        if path is None:
            continue
        digest, imported = _read(path, path.stat().st_mtime_ns)
        found.modules[name] = digest
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        left += _absolute(imported, package)
        for parent in _parents(name):  # they are executed, but what they import is not followed
            if parent not in found.modules and (init := _file_of(parent)) is not None:
                found.modules[parent] = _read(init, init.stat().st_mtime_ns)[0]


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _absolute(imported: Iterable[tuple[str, int, tuple[str, ...]]], package: str) -> Iterator[str]:
    """Turn import statements into names of modules."""
    for module, level, names in imported:
        base = module
        if level:
            parts = package.split(".")
            kept = parts[: len(parts) - level + 1]
            base = ".".join([*kept, *([module] if module else [])])
        submodules = [f"{base}.{name}" for name in names if _is_own_module(f"{base}.{name}")]
        yield from submodules
        if not names or len(submodules) < len(names):
            yield base


def _is_own_module(name: str) -> bool:
    top = name.partition(".")[0]
    return top not in sys.stdlib_module_names and not _is_installed(top) and bool(_file_of(name))


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int) -> tuple[str, tuple[tuple[str, int, tuple[str, ...]], ...]]:
    """Return the digest of a module's file, and its import statements."""
    content = path.read_bytes()
    if path.suffix != ".py":  # compiled
        return _digest(content), ()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # it cannot be imported, either
        return _digest(content), ()
    imported: list[tuple[str, int, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [(alias.name, 0, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            imported.append((node.module or "", node.level, names))
    return _digest(ast.dump(tree).encode()), tuple(imported)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _is_installed(top: str) -> bool:
    """Return whether a package is in a folder of installed ones, or cannot be found."""
    places = _places(top)
    return not places or any(INSTALLED & set(place.parts) for place in places)


@lru_cache(maxsize=4096)
def _places(name: str) -> list[Path]:
    """Return the file of a module, or the folders of a package without one, or no path."""
    spec = _spec(name)
    if spec is None:
        return []
    if spec.origin and spec.has_location:
        return [Path(spec.origin)]
    return [Path(place) for place in spec.submodule_search_locations or ()]


def _file_of(name: str) -> Path | None:
    places = _places(name)
    return places[0] if places and places[0].is_file() else None


def _spec(name: str) -> Any:
    """Find a module without importing it."""
    loaded = getattr(sys.modules.get(name), "__spec__", None)
    if loaded is not None:
        return loaded
    parent = name.rpartition(".")[0]
    try:
        if not parent:
            return importlib.util.find_spec(name)
        above = _spec(parent)
        return above and PathFinder.find_spec(name, above.submodule_search_locations or [])
    except (ImportError, ValueError, AttributeError):
        return None


@lru_cache(maxsize=1024)
def _versions(top: str) -> dict[str, str]:
    return {name: metadata.version(name) for name in _distributions().get(top, ())}


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _digest_main(thing: Any, digests: dict[str, str]) -> list[str]:
    """Digest a class or function of a script and what it refers to; return modules it uses."""
    # The rest of a script often changes without any effect on results.
    label = f"__main__.{thing.__qualname__}"
    if label in digests:
        return []
    digests[label] = ""  # before the functions that it calls: they may call it
    codes = list(_codes(thing))
    names = sorted({name for code in codes for name in _names_in(code)})
    main = vars(sys.modules["__main__"])
    modules, constants = [], []
    bases = [base.__name__ for base in getattr(thing, "__bases__", ())]
    for name in (*names, *bases):
        value = main.get(name)
        if isinstance(value, ModuleType):
            modules.append(value.__name__)
        elif isinstance(value, PLAIN) and value is not None:
            constants.append((name, value))
        elif inspect.isclass(value) or inspect.isroutine(value):
            module = getattr(value, "__module__", None) or "builtins"
            modules += _digest_main(value, digests) if module == "__main__" else [module]
    modules += [base.__module__ for base in getattr(thing, "__bases__", ())]
    digests[label] = _digest(repr((bases, constants, [_plain(code) for code in codes])).encode())
    return [name for name in modules if name != "__main__"]


def _codes(thing: Any) -> Iterator[CodeType]:
    """Yield the compiled code of a function, or of the methods of a class."""
    if isinstance(thing, FunctionType):
        yield thing.__code__
    elif isinstance(thing, property):
        yield from (code for part in (thing.fget, thing.fset) if part for code in _codes(part))
    elif isinstance(thing, staticmethod | classmethod):
        yield from _codes(thing.__func__)
    elif isinstance(thing, type):
        for _, part in sorted(vars(thing).items()):
            yield from _codes(part)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names_in(part)


def _plain(code: CodeType) -> Any:
    """Return the parts of code that determine what it does, without line numbers."""
    consts = [_plain(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return code.co_name, code.co_code.hex(), consts, code.co_names, code.co_varnames
