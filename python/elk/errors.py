"""The errors of ELK: what went wrong, where it was written, and what to do about it."""

from __future__ import annotations


class ElkError(Exception):
    """What every error of ELK is.

    Example:
        >>> try:
        ...     elk.chips.get("tinny")
        ... except elk.ElkError as error:
        ...     print(error.code, "-", error.remedy)
        unknown_name - did you mean 'tiny'?

    Attributes:
        message: What went wrong: the field, the rule and the value.
        code: A word for programs; it stays when the wording changes.
        place: Where it was written, such as `mine.toml:3`; None where there is no such place.
        remedy: What to do about it; None where nothing is known to help.
    """

    code: str = "elk"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        place: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        """Place, message and remedy in one text."""
        head = f"{self.place}: {self.message}" if self.place else self.message
        return f"{head}\n  remedy: {self.remedy}" if self.remedy else head

    def to_dict(self) -> dict[str, str | None]:
        """The error as `--json` prints it: code, message, place and remedy."""
        return {
            "code": self.code,
            "message": self.message,
            "place": self.place,
            "remedy": self.remedy,
        }


class InvalidInputError(ElkError, ValueError):
    """The caller can fix it."""

    code = "invalid_input"


class ChipFileError(InvalidInputError):
    """A chip file that cannot be read, or that describes no possible chip."""

    code = "chip_file"


class ModelFileError(InvalidInputError):
    """A model that cannot be read, or that is no valid ONNX model."""

    code = "model_file"


class LimitError(InvalidInputError):
    """A model with more of something than `elk.Limits` allow; the message says of what."""

    code = "limit"


class UnboundSymbolsError(InvalidInputError):
    """A model with dimensions that have no number yet; the message lists all of them."""

    code = "unbound_symbols"


class UnsupportedModelError(InvalidInputError):
    """A model with nodes that cannot be planned; the message lists all of them."""

    code = "unsupported_model"


class PlanFileError(InvalidInputError):
    """A plan file that cannot be read, or that this version does not know."""

    code = "plan_file"


class TraceFileError(InvalidInputError):
    """A trace file that cannot be read, or that lacks what a trace needs."""

    code = "trace_file"


class OutputFileError(InvalidInputError):
    """A file that cannot be written; what was there before is unchanged."""

    code = "output_file"


class SweepStoreError(InvalidInputError):
    """A sweep's store that cannot be read or written; what was reported as done is kept."""

    code = "sweep_store"


class SweepFileError(InvalidInputError):
    """A file that describes a sweep, and cannot be read or is wrong; the message says where."""

    code = "sweep_file"


class MissingPackageError(ElkError, ImportError):
    """Something needs an optional package that is not installed."""

    code = "missing_package"


class ReferenceRunError(ElkError):
    """ONNX Runtime, which results are compared with, refuses a model or ended its process."""

    code = "reference"


class InfeasibleError(ElkError):
    """Nothing fits the chip. The message says which limit, and by how much."""

    code = "infeasible"


class BoundWarning(UserWarning):
    """A simulated time was below the plan's lower bound, which is withheld: a bug in ELK."""


class InternalError(ElkError):
    """A bug in ELK, not in its input."""

    code = "internal"
