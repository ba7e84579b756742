"""What is noted of a split, and how notes of older results are read."""

from collections.abc import Iterator

from unknot.errors import Note
from unknot.tasks.result import TaskResult

SEEN = "seen"  # the kind of note by which a leaderboard knows that a run has seen test images
HAS_SEEN = "has seen images of this test part"


def notes_of(result: TaskResult) -> Iterator[Note]:
    """The notes of a result; older ones are sentences, which begin with the splits they are about.

    >>> seen = f"random, extrapolation: the run was trained on all of its world, so it {HAS_SEEN}."
    >>> [(note.kind, note.about) for note in notes_of(TaskResult("generalisation", "", "", {}, notes=[seen]))]
    [('seen', 'random'), ('seen', 'extrapolation')]
    """
    for note in result.notes:
        if isinstance(note, Note):
            yield note
        elif HAS_SEEN in note:
            labels, _, text = note.partition(": ")
            yield from (Note(SEEN, label, text) for label in labels.split(", "))
        else:
            yield Note("", "", note)
