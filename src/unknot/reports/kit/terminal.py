"""Tables for the terminal."""

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def plain_table(
    *columns: str,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    fold: Collection[str] = (),
    title: str = "",
) -> "Table":
    """A table without lines.

    Args:
        columns: their heads.
        right: heads of columns of numbers.
        whole: heads of columns whose words are not broken.
        fold: heads of columns whose long words go on in the next line; elsewhere they are cut.
        title: above, if there is one.
    """
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in columns:
        justify, overflow = ("right" if name in right else "left"), ("fold" if name in fold else "ellipsis")
        table.add_column(name, justify=justify, overflow=overflow, no_wrap=name in whole)  # type: ignore[arg-type]
    return table
