"""Objects of Python modules by name, `package.module:name`, and which names that stand in files may be imported.

Importing a module runs its code. A name that the user types is theirs to choose; one that a file holds, such as the
model of somebody's run, is imported only after `trust`, or if it is a model whose module is imported already. Any
other function of a loaded module is not: `pickle:loads` would be called with what a stranger has made.
"""

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError

VARIABLE = "UNKNOT_TRUST"  # names with blanks between; processes started by this one inherit it
ALL = "*"
_files: dict[str, Path | str] = {}  # name -> the file that it was read from
_given: set[str] = set()  # names that were asked for before any file had them


def trust(*names: str) -> None:
    """Let names that stand in files be imported, here and in processes started from here; all names if none is given.

    >>> trust("my_models:Mine")  # and then unknot.score("runs/mine")
    """
    os.environ[VARIABLE] = " ".join(dict.fromkeys([*os.environ.get(VARIABLE, "").split(), *(names or (ALL,))]))


def read_from(file: Path | str, names: Iterable[str]) -> None:
    """Remember that these names come from a file; those without a colon are no names of Python objects."""
    _files.update((name, file) for name in names if isinstance(name, str) and ":" in name)


def imported(name: str, kind: str) -> Any:
    """The object of a name, looked for also beside the place the command is run from.

    Args:
        name: `package.module:name`.
        kind: what it is to be, for messages: model, encoder.
    """
    module, _, attribute = name.partition(":")
    file, trusted = _files.get(name), os.environ.get(VARIABLE, "").split()
    if file is None:
        _given.add(name)
    loaded = kind == "model" and module in sys.modules
    if not (loaded or name in _given or {name, ALL} & set(trusted)):
        raise UnknotError(
            f"{file}: names the {kind} '{name}', and reading it would run the code of {_place(module)}. If you know "
            f"that code, add --trust to the command; in Python: unknot.trust('{name}').",
            field=kind,
            value=name,
        )
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise UnknotError(f"{kind} '{name}': cannot be imported ({error}).", field=kind, value=name) from None
    finally:
        sys.path.remove("")


def _place(module: str) -> str:
    """The file of a module, found without running any code; of a package, where it begins."""
    top = module.partition(".")[0]
    sys.path.insert(0, "")
    try:
        spec = find_spec(top) if top.isidentifier() else None
    except (ImportError, ValueError):
        spec = None
    finally:
        sys.path.remove("")
    return f"the module '{module}'" + (f" ({spec.origin})" if spec is not None and spec.origin else "")
