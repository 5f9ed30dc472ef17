"""The design document: fourteen sections and an index, from the model alone, in ja or en."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobs.parsing.code2des import document_code as code_sections
from jobs.parsing.code2des import document_interfaces as interface_sections
from jobs.parsing.code2des import document_quality as quality_sections
from jobs.parsing.code2des import document_structure as structure_sections
from jobs.parsing.code2des.document_markup import Writer, cell

_Section = Callable[[Writer, dict[str, Any]], None]

#: heading and writer of each section, in order; the number is the position
SECTIONS: tuple[tuple[str, _Section], ...] = (
    ("overview", structure_sections.overview),
    ("composition", structure_sections.composition),
    ("modules", structure_sections.modules),
    ("dependencies", structure_sections.dependencies),
    ("entry_points", interface_sections.entry_points),
    ("endpoints", interface_sections.endpoints),
    ("types", code_sections.types),
    ("functions", code_sections.functions),
    ("flows", code_sections.flows),
    ("data_model", interface_sections.data_model),
    ("crud", interface_sections.crud),
    ("external", interface_sections.external),
    ("quality", quality_sections.quality),
    ("coverage", quality_sections.coverage),
)


def write_document(model: dict[str, Any], language: str) -> str:
    """Return the document as Markdown; `language` is `ja` or `en`."""
    writer = Writer(language)
    writer.heading(1, writer.say("title", name=cell(model["project"]["name"])))
    writer.phrase("generated_note")
    for number, (key, section) in enumerate(SECTIONS, start=1):
        writer.heading(2, f"{number}. {writer.say(key)}")
        section(writer, model)
    writer.heading(2, writer.say("appendix"))
    quality_sections.index(writer, model)
    return writer.text()
