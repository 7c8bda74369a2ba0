"""What is wrong with a sweep, gathered from all of it and said at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from elk.chip.check import first
from elk.errors import InvalidInputError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong with a sweep: where, what, and what to do about it.

    Attributes:
        place: An axis, an option or another argument of the call.
        rule: The rest of the sentence that begins with it.
        remedy: What to write instead, if that is known.
    """

    place: str
    rule: str
    remedy: str | None = None

    def __str__(self) -> str:
        text = f"{self.place}{'' if self.rule.startswith(':') else ' '}{self.rule}"
        return f"{text}; {self.remedy}" if self.remedy else text


class SweepError(InvalidInputError):
    """A sweep that cannot be; `complaints` says why."""

    code = "invalid_sweep"
    complaints: tuple[Complaint, ...] = ()


def refuse(complaints: Iterable[Complaint]) -> None:
    """Raises one error with all complaints, each said once, if there are any.

    Raises:
        SweepError: there are some.
    """
    listed = tuple(dict.fromkeys(complaints))
    if not listed:
        return
    if len(listed) == 1:
        said = str(Complaint(listed[0].place, listed[0].rule))
        error = SweepError(said, place="sweep", remedy=listed[0].remedy)
    else:
        lines = first([f"  {complaint}" for complaint in listed])
        error = SweepError("\n".join([f"{len(listed)} things are wrong:", *lines]), place="sweep")
    error.complaints = listed
    raise error


def complaint(place: str, error: InvalidInputError) -> Complaint:
    """What an error says of a place, as a sentence that begins with the place."""
    rule = error.message
    for subject in (f"{place} ", f"a {place} "):
        if rule.startswith(subject):
            return Complaint(place, rule.removeprefix(subject), error.remedy)
    is_rest = rule.startswith(("must ", "has ", "is ", "needs "))
    return Complaint(place, rule if is_rest else f": {rule}", error.remedy)


@dataclass
class Gathered:
    """What is wrong with several things that are looked at one after another."""

    complaints: list[Complaint] = field(default_factory=list)
    _whole: list[InvalidInputError] = field(default_factory=list)  # errors that say their place

    def of(self, place: str, look: Callable[[], Result]) -> Result | None:
        """What `look` returns; None, and complaints about `place`, where it refuses."""
        try:
            return look()
        except SweepError as error:
            self.complaints += error.complaints
        except InvalidInputError as error:
            if error.place is not None:
                self._whole.append(error)
            self.complaints.append(complaint(error.place or place, error))
        return None

    def refuse(self) -> None:
        """Raises one error with all complaints, if there are any.

        Raises:
            InvalidInputError: the only one, where there is one that says its place.
            SweepError: there are several.
        """
        if len(self.complaints) == 1 and self._whole:
            raise self._whole[0]
        refuse(self.complaints)
