"""The public names of the package."""

import inspect
import sys
from importlib import import_module

import pytest

import pairmend

SUBMODULES = [name for name, _ in inspect.getmembers(pairmend, inspect.ismodule)]
OF_EVERY_MODULE = ["__all__", "__doc__", "__version__"]


def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(pairmend) == sorted([*pairmend.__all__, *SUBMODULES, *OF_EVERY_MODULE])
    assert not any(name.startswith("_") for name in [*pairmend.__all__, *SUBMODULES])


def test_a_module_whose_requirement_is_not_installed(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pairmend.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(pairmend, "distributed", raising=False)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    message = r"needs dask, which is not installed.*pip install 'pairmend\[dask\]'"
    assert not hasattr(pairmend, "distributed")
    assert "distributed" not in dict(inspect.getmembers(pairmend))
    with pytest.raises(AttributeError, match=message):
        _ = pairmend.distributed
    with pytest.raises(ImportError, match=message):
        import_module("pairmend.distributed")
    with pytest.raises(ImportError, match=message):
        from pairmend import distributed  # noqa: F401


@pytest.mark.parametrize("name", SUBMODULES)
def test_public_modules_list_their_names(name):
    module = import_module(f"pairmend.{name}")
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for public in module.__all__:
        assert hasattr(module, public)


def test_no_public_object_has_two_public_paths():
    paths = {}
    for name in ["", *SUBMODULES]:
        module = import_module(f"pairmend.{name}".rstrip("."))
        for public in module.__all__:
            value = getattr(module, public)
            if inspect.isclass(value) or inspect.isfunction(value):
                paths.setdefault(value, []).append(f"{module.__name__}.{public}")
    assert [found for found in paths.values() if len(found) > 1] == []


def test_public_classes_and_functions_have_docstrings_with_examples():
    for name in pairmend.__all__:
        assert "Examples\n    --------" in getattr(pairmend, name).__doc__, name
