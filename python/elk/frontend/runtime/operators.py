"""The table of ONNX Runtime's operators. Adding one is adding its entry to a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import onnx

from elk.frontend.runtime import elements, experts, grouped, heads, norms, quantized, weights
from elk.frontend.runtime.entry import DOMAIN

if TYPE_CHECKING:
    from elk.frontend.runtime.entry import Entry

_ONNX: Final = ("", "ai.onnx")
ENTRIES: Final = (
    *norms.ENTRIES,
    *grouped.ENTRIES,
    *heads.ENTRIES,
    *elements.ENTRIES,
    *weights.ENTRIES,
    *experts.ENTRIES,
    *quantized.ENTRIES,
)
_TEXTS: Final = "it writes a whole text, which is the work of the host"
_PAGES: Final = "its rows are found by values while the model runs"
# Operators that are refused, and why.
REFUSED: Final = {
    f"{DOMAIN}.{name}": why
    for why, names in (
        (_TEXTS, ("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch")),
        (_PAGES, ("PackedAttention", "PackedMultiHeadAttention", "PagedAttention",
                  "RemovePadding", "RestorePadding")),
        ("its bytes are in the order of another machine", ("EPContext", "MatMulFpQ4")),
        ("strings are no numbers", ("Tokenizer", "WordConvEmbedding")),
    )
    for name in names
}  # fmt: skip
_BY_TYPE: Final[dict[str, Entry]] = {
    f"{domain}.{entry.name}" if domain else entry.name: entry
    for entry in ENTRIES
    for domain in entry.domains
}


def entry_of(kind: str) -> Entry | None:
    """The entry of an operator type, which has its domain in front where that is not ONNX's own."""
    return _BY_TYPE.get(kind)


def is_borrowed(node: onnx.NodeProto, opset: int) -> bool:
    """Whether a node stands in ONNX's own domain, where only ONNX Runtime knows its type."""
    return (
        node.domain in _ONNX
        and node.op_type in _BY_TYPE
        and not onnx.defs.has(node.op_type, opset, "")
    )
