"""`unknot zoo`: the trained runs that ship with the package."""

from unknot.cli.output import plain_console
from unknot.reports.kit.terminal import plain_table


def zoo() -> None:
    """List the trained runs that ship with Unknot; `zoo:NAME` stands wherever the folder of a run does."""
    from unknot.zoo import catalogue

    entries, console = catalogue(), plain_console()
    for metrics in dict.fromkeys(tuple(entry["scores"]) for entry in entries.values()):  # slots have others
        table = plain_table("run", "steps", *metrics, whole=["run", *metrics], right=["steps", *metrics])
        for name, entry in entries.items():
            if tuple(entry["scores"]) == metrics:
                scores = (f"{value:.3f}" for value in entry["scores"].values())
                table.add_row(f"zoo:{name}", f"{entry['steps']:,}", *scores)
        console.print(table)
    console.print(
        "Worlds are the rendered ones. unknot explore zoo:NAME moves its latents, unknot score zoo:NAME scores all of "
        "it; `unknot study zoo` trains them anew.",
        style="dim",
    )
