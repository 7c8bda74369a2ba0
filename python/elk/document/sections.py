"""A plan's document of which only those sections are made that are looked at."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any


class Sections(dict[str, Any]):  # noqa: PLW1641 - as a dictionary, it has no hash
    """A document whose sections are made when they are first asked for.

    The rows of all operators take longer to write out than a sweep's plan takes to simulate, and a
    run looks at few of them. Whoever goes over the whole document finds all of it, in order.

    Example:
        >>> sections = Sections({"ops": lambda: [1, 2], "policy": lambda: "static"})
        >>> sections["policy"], dict(sections)
        ('static', {'ops': [1, 2], 'policy': 'static'})
    """

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._makers = dict(makers)

    def __missing__(self, key: str) -> Any:
        self[key] = made = self._makers[key]()
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def __contains__(self, key: object) -> bool:
        return key in self._makers or dict.__contains__(self, key)

    def __eq__(self, other: object) -> bool:
        return self._whole() == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def get(self, key: str, default: Any = None) -> Any:
        """The section, or `default` where the document has none of that name."""
        return self._whole().get(key, default) if key not in self._makers else self[key]

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """The names of all sections, in the document's order."""
        return self._whole().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """All sections."""
        return self._whole().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """All sections with their names."""
        return self._whole().items()

    def copy(self) -> dict[str, Any]:
        """The whole document as a plain dictionary."""
        return self._whole()

    def _whole(self) -> dict[str, Any]:
        return {key: self[key] for key in self._makers}
