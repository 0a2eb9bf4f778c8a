"""Events, from a webhook, a list or a stream."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._answers import Unreadable, json_of, time_of


@dataclass(frozen=True)
class Event:
    """What happened. There may be types that this version does not know."""

    id: str
    """The same each time it is delivered: keep it, and ignore what you have seen."""
    type: str
    created_at: datetime
    data: dict[str, Any]
    """As its type has it: amounts are text, limits of policies are `Decimal`."""


def event_of(value: Any) -> Event:
    fields = value if isinstance(value, dict) else {}
    id, kind, created_at, data = (fields.get(name) for name in ("id", "type", "created_at", "data"))
    if not (isinstance(id, str) and isinstance(kind, str) and isinstance(data, dict)):
        raise Unreadable("this is no event")
    return Event(id=id, type=kind, created_at=time_of(created_at), data=data)


def event_of_body(body: bytes) -> Event:
    return event_of(json_of(body))


@dataclass(frozen=True)
class Message:
    """One message of a stream. `id` is where the stream goes on after it."""

    id: str | None
    data: str


# More than the longest event.
MESSAGE_LENGTH_MAX = 1024 * 1024


class MessageReader:
    """Reads `text/event-stream`, however it is cut into pieces. Raises `Unreadable` for a message that does not end."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._id: str | None = None
        self._data: list[str] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[Message]:
        text = self._rest + self._decoder.decode(chunk)
        # A lone \r at the end may be the first half of \r\n.
        whole = len(text) - 1 if text.endswith("\r") else len(text)
        lines = text[:whole].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + text[whole:]
        for line in lines:
            if not line:
                if self._data or self._id is not None:
                    yield Message(self._id, "\n".join(self._data))
                self._id, self._data, self._length = None, [], 0
                continue
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "id":
                self._id = value
            elif field == "data":
                self._data.append(value)
                self._length += len(value)
        if self._length + len(self._rest) > MESSAGE_LENGTH_MAX:
            raise Unreadable("a message is too long")
