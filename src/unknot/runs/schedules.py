"""Schedules of a run: functions of its step alone, so that a resumed run goes on as one that was never stopped."""

import math
import re

from unknot.errors import UnknotError

SCHEDULES = ("constant", "cosine")
WARM_UP = 100  # steps until a cosine's learning rate is whole
RAMP = 150  # steps until the pressure is whole
FALLEN = 0.7  # of the run: from there on the pressure stays
JUDGED = 0.4  # of the run: so far starts go before one of them is chosen
ALIKE = 0.9  # UDR of starts that found the same; if no start has it, as many again are begun, once


def rate(schedule: str, step: int, steps: int) -> float:
    """What the learning rate is multiplied by at a step: 1, or a rise over 100 steps and a cosine down to 0.

    >>> [round(rate("cosine", step, 1000), 3) for step in (0, 99, 500, 999)]
    [0.01, 0.976, 0.5, 0.0]
    """
    if schedule == "constant":
        return 1.0
    return min(1.0, (step + 1) / WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2


def judged_after(steps: int) -> int:
    """The step at which the starts of a run are compared.

    >>> judged_after(6000), judged_after(1)
    (2400, 1)
    """
    return math.ceil(JUDGED * steps)


def read_pressure(text: str) -> tuple[float, float] | None:
    """Where a pressure starts and where it ends; None where there is none.

    >>> read_pressure("24..2"), read_pressure("")
    ((24.0, 2.0), None)
    """
    if not text:
        return None
    number = r"\s*(\d+(?:\.\d+)?)\s*"
    match = re.fullmatch(number + r"\.\." + number, text)
    if match is None or not (float(match[1]) > 0 and float(match[2]) > 0):
        raise UnknotError(
            who="run",
            field="pressure",
            value=text,
            expected="two numbers above zero, first and last, such as 24..2",
        )
    return float(match[1]), float(match[2])


def weight(pressure: tuple[float, float] | None, step: int, steps: int) -> float:
    """What all terms of a loss but the reconstruction are multiplied by at a step.

    It rises over 150 steps, moves geometrically from the first number to the last until 70 % of the run, and stays.

    >>> [round(weight((24, 2), step, 10_000), 2) for step in (0, 149, 3500, 7000, 9999)]
    [0.16, 22.76, 6.93, 2.0, 2.0]
    """
    if pressure is None:
        return 1.0
    first, last = pressure
    fallen = min(1.0, step / (FALLEN * steps))
    return float(min(1.0, (step + 1) / RAMP) * first * (last / first) ** fallen)
