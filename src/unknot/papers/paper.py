"""What is known of a paper: its citation, its question, what of it is here, and how to repeat it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """One paper.

    Attributes:
        key: first author and year; presets and studies of the paper have this name.
        title: of the paper.
        authors: as "Surname, Given names".
        year: of publication.
        venue: journal or conference.
        journal: whether the venue is a journal.
        address: where to read it.
        question: what it asks.
        metrics: that it introduces or measures.
        models: that have its settings, as presets of this key.
        tasks: that it proposes or tries.
        worlds: that its models learn from.
        commands: that do something else it proposes.
        full: the command that repeats it in full size.
        small: the command that repeats it in small.
        parts: of `make reproduce`; what came out of them is in docs/results.md.
    """

    key: str
    title: str
    authors: tuple[str, ...]
    year: int
    venue: str
    address: str
    question: str
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    tasks: tuple[str, ...]
    worlds: tuple[str, ...]
    full: str
    small: str
    parts: tuple[str, ...]
    commands: tuple[str, ...] = ()
    journal: bool = False

    @property
    def short(self) -> str:
        """First author and year, as in "Duan et al. 2020"."""
        return f"{self.authors[0].partition(',')[0]} et al. {self.year}"

    @property
    def source(self) -> str:
        """The arXiv number, or the address of a paper that has none."""
        return self.address.replace("https://arxiv.org/abs/", "arXiv:")

    @property
    def citation(self) -> str:
        """The citation in one line."""
        *others, last = (author.partition(",")[0] for author in self.authors)
        return f"{', '.join(others)} and {last} {self.year}, {self.title}, {self.venue}, {self.source}"

    @property
    def bibtex(self) -> str:
        """The citation for a BibTeX file."""
        fields = {
            "title": f"{{{self.title}}}",
            "author": " and ".join(self.authors),
            "journal" if self.journal else "booktitle": self.venue,
            "year": str(self.year),
            "url": self.address,
        }
        lines = (f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@{'article' if self.journal else 'inproceedings'}{{{self.key},\n{''.join(lines)}}}"
