"""`Arg`: what a parameter says about itself inside ``Annotated``, and which types it fits."""

from __future__ import annotations

__all__ = ["Arg"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class Arg:
    """Description and constraints of one parameter: ``Annotated[int, Arg("How many", ge=1)]``.

    Values are checked when the tool is declared, where the parameter's name is known.
    """

    __slots__ = ("description", "name", "options", "schema")

    def __init__(
        self,
        description: str | None = None,
        *,
        name: str | None = None,
        title: str | None = None,
        ge: float | None = None,
        gt: float | None = None,
        le: float | None = None,
        lt: float | None = None,
        multiple_of: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        unique_items: bool | None = None,
        pattern: str | None = None,
        format: str | None = None,
        enum: Sequence[Any] | None = None,
        examples: Sequence[Any] | None = None,
        header: str | None = None,
        deprecated: bool | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what fits.

        Args:
            description: For the model.
            name: Name on the wire, when it cannot be a Python name (``class``).
            title: For people.
            ge: At least.
            gt: More than.
            le: At most.
            lt: Less than.
            multiple_of: A multiple of this.
            min_length: Of a string in code points, of a list in items, of an object in members.
            max_length: Likewise.
            unique_items: No two items of a list are equal.
            pattern: Regular expression found somewhere in the string.
            format: A JSON Schema format; a note, not a check.
            enum: The values allowed.
            examples: A few values.
            header: Mirror the argument into the HTTP header ``Mcp-Param-<header>``.
            deprecated: Whether callers should stop giving it.
            schema: JSON Schema keywords that override the ones above.
        """
        self.description = description
        self.name = name
        self.schema = schema
        self.options: dict[str, Any] = {
            key: value
            for key, value in (
                ("title", title),
                ("ge", ge),
                ("gt", gt),
                ("le", le),
                ("lt", lt),
                ("multiple_of", multiple_of),
                ("min_length", min_length),
                ("max_length", max_length),
                ("unique_items", unique_items),
                ("pattern", pattern),
                ("format", format),
                ("enum", enum),
                ("examples", examples),
                ("header", header),
                ("deprecated", deprecated),
            )
            if value is not None
        }

    def __repr__(self) -> str:
        """Show what was given."""
        parts = [] if self.description is None else [repr(self.description)]
        parts += [f"{key}={value!r}" for key, value in self.options.items()]
        return f"Arg({', '.join(parts)})"
