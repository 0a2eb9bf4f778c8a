"""Writes the types of both SDKs from the service's OpenAPI document, and Python's sync client from the async one:
`purser openapi | python3 sdk/generate.py`.

With `--check` it writes nothing and fails if they differ from the document.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ASYNC_CLIENT = FOLDER / "python/purser_pay/_async_client.py"
SYNC_CLIENT = FOLDER / "python/purser_pay/_client.py"
PYTHON = FOLDER / "python/purser_pay/types.py"
TYPESCRIPT = FOLDER / "typescript/src/types.ts"
SHAPES = FOLDER / "typescript/src/shapes.ts"

# What TypeScript's callers name in requests.
ASKED = ["ApprovalRequest", "EventType", "Method", "ReplayScope"]
# The fields of a policy that callers give, by the schema that has them. A change's reason is an argument of its own.
GIVEN = {"PolicyFields": "FirstPolicy", "PolicyChange": "PolicyOfMany"}
NOT_GIVEN = "reason"
# What the SDKs answer, as the client names it. What these refer to comes along.
ANSWERED = sorted(set(re.findall(r"\btypes\.([A-Z]\w+)", ASYNC_CLIENT.read_text())) - set(GIVEN))
# Money is never a float: both SDKs read JSON numbers of USDC exactly, and send text.
MONEY = ("Usdc", "UsdcLimit")
SENT_MONEY = "UsdcNumber"
# No log shows them by accident.
SECRETS = ("ApiKey", "WebhookSecret")
NOTE = "Generated from the service's OpenAPI document by sdk/generate.py. Do not edit."
SYNC_NOTE = "Made from _async_client.py by sdk/generate.py. Do not edit."


class Document:
    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]
        self.events = {
            kind: sent["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
            for kind, sent in document["webhooks"].items()
        }

    def reached(self, roots: list[str]) -> list[str]:
        """The names that these refer to, themselves included, in the order of the alphabet."""
        found: set[str] = set()
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += references(self.schemas[name])
        return sorted(found)

    def fields(self, schema: dict[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
        """Name, schema and whether it is always there, required ones first."""
        if "allOf" in schema:
            parts = [self.fields(self.meant(part)) for part in schema["allOf"]]
            fields = [field for part in parts for field in part]
        else:
            required = schema.get("required", [])
            fields = [(name, inner, name in required) for name, inner in schema["properties"].items()]
        return sorted(fields, key=lambda field: (not field[2], field[0]))

    def meant(self, schema: dict[str, Any]) -> dict[str, Any]:
        return self.schemas[named(schema)] if "$ref" in schema else schema

    def given(self, name: str) -> list[tuple[str, dict[str, Any]]]:
        """The fields of this type of requests, each of which may be left out."""
        return [(field, schema) for field, schema, _ in self.fields(self.schemas[GIVEN[name]]) if field != NOT_GIVEN]

    def limits(self) -> list[str]:
        """The fields of a policy that are amounts."""
        return [field for field, schema in self.given("PolicyChange") if SENT_MONEY in map(named, refs_within(schema))]

    def is_object(self, name: str) -> bool:
        schema = self.schemas[name]
        return "allOf" in schema or "properties" in schema

    def words_about(self, schema: dict[str, Any]) -> str:
        for part in (schema, *schema.get("oneOf", [])):
            words = part.get("description") or ("$ref" in part and self.meant(part).get("description"))
            if words:
                return str(words)
        return ""


def named(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rsplit("/", 1)[1]


def references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [name for one in part for name in references(one)]
    if not isinstance(part, dict):
        return []
    own = [named(part)] if "$ref" in part else []
    return own + [name for one in part.values() for name in references(one)]


def refs_within(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema and its alternatives, as far as they have a name."""
    return [part for part in (schema, *schema.get("oneOf", [])) if "$ref" in part]


def numbers_of(part: Any) -> set[str]:
    """The fields of answers that are USDC as JSON numbers."""
    if isinstance(part, list):
        return set().union(*map(numbers_of, part))
    if not isinstance(part, dict):
        return set()
    own = {field for field, schema in part.get("properties", {}).items() if "UsdcLimit" in map(named, refs_within(schema))}
    return own.union(*map(numbers_of, part.values()))


def without_null(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The schema of what is there, and whether `null` may stand in its place."""
    if "oneOf" in schema:
        others = [one for one in schema["oneOf"] if one.get("type") != "null"]
        if len(others) == 1 and len(schema["oneOf"]) == 2:
            return others[0], True
    if isinstance(schema.get("type"), list) and "null" in schema["type"]:
        (kind,) = [kind for kind in schema["type"] if kind != "null"]
        return {**schema, "type": kind}, True
    return schema, False


def known_words(schema: dict[str, Any]) -> list[str]:
    parts = [schema, *schema.get("anyOf", [])]
    return [word for part in parts for word in part.get("enum", [])]


def python(document: Document) -> str:
    def kind(schema: dict[str, Any]) -> str:
        schema, nullable = without_null(schema)
        return plain(schema) + (" | None" if nullable else "")

    def plain(schema: dict[str, Any]) -> str:
        if "$ref" in schema:
            name = named(schema)
            if name in MONEY:
                return "Decimal"
            if name == "Timestamp":
                return "datetime"
            if name == "Metadata":
                return "dict[str, Any]"
            if name == SENT_MONEY:
                return "Usdc"
            if name == "Counterparty":
                return "str | Mapping[str, str]"
            return name if document.is_object(name) else plain(document.schemas[name])
        if schema.get("type") == "array":
            return f"list[{kind(schema['items'])}]"
        kinds = {"string": "str", "integer": "int", "boolean": "bool", "object": "dict[str, Any]"}
        return kinds.get(schema.get("type", "string"), "str")

    lines = ['"""What the service answers, and the fields of a policy that it is given.', "", NOTE,
             "Amounts are `Decimal`, times are `datetime` with UTC. Statuses, codes and types are text: there may be new ones.",
             '"""', "", "from __future__ import annotations", "", "from collections.abc import Iterable, Mapping", "from dataclasses import dataclass, field",
             "from datetime import datetime", "from decimal import Decimal", "from typing import Any, TypedDict", "",
             "from .money import Usdc", "", "LIMITS = " + repr(tuple(document.limits())).replace("'", '"')]
    for name in GIVEN:
        schema = document.schemas[GIVEN[name]]
        lines += ["", "", f"class {name}(TypedDict, total=False):"]
        lines += [*wrapped(schema["description"], '    """', '"""'), ""]
        for field, inner in document.given(name):
            lines.append(f"    {field}: {kind(inner).replace('list[', 'Iterable[')}")
            lines += wrapped(document.words_about(inner), '    """', '"""')
    for name in document.reached(ANSWERED):
        if not document.is_object(name):
            continue
        schema = document.schemas[name]
        lines += ["", "", "@dataclass(frozen=True, kw_only=True)", f"class {name}:"]
        lines += wrapped(schema.get("description") or f"The `{name}` of the service's description.", '    """', '"""')
        for field, inner, required in document.fields(schema):
            about = document.words_about(inner)
            words = known_words(document.meant(without_null(inner)[0]))
            if words:
                about += " Known: " + ", ".join(f"`{word}`" for word in words) + "."
            spelled = f"{field}_" if keyword.iskeyword(field) else field
            annotation = kind(inner)
            if not required and not annotation.endswith("None"):
                annotation += " | None"
            lines += [""] if lines[-1].endswith('"""') and lines[-2].startswith("class") else []
            secret = inner.get("$ref", "").rsplit("/", 1)[-1] in SECRETS
            lines.append(f"    {spelled}: {annotation}" + ("" if required else " = None") + (" = field(repr=False)" if secret else ""))
            if about:
                lines += wrapped(about, '    """', '"""')
    return "\n".join(lines) + "\n"


def typescript(document: Document) -> str:
    def kind(schema: dict[str, Any]) -> str:
        schema, nullable = without_null(schema)
        return plain(schema) + (" | null" if nullable else "")

    def plain(schema: dict[str, Any]) -> str:
        if "$ref" in schema:
            return named(schema)
        if schema.get("type") == "array":
            inner = kind(schema["items"])
            return f"Array<{inner}>" if " " in inner else f"{inner}[]"
        if "oneOf" in schema:
            return " | ".join(map(kind, schema["oneOf"]))
        if "properties" in schema:
            return "{ " + "; ".join(f"{field}: {kind(inner)}" for field, inner in schema["properties"].items()) + " }"
        kinds = {"string": "string", "integer": "number", "boolean": "boolean", "object": "Record<string, unknown>"}
        return kinds.get(schema.get("type", "string"), "unknown")

    def about(text: str, indent: str = "") -> list[str]:
        lines = wrapped(text, f"{indent}/** ", " */", f"{indent} * ")
        return lines

    datas = {event: named(document.schemas[schema]["properties"]["data"]) for event, schema in document.events.items()}
    lines = ["// What the service answers, and the fields of a policy that it is given.", f"// {NOTE}",
             "// Amounts are decimal strings, those that the service writes as JSON numbers included. Statuses, codes and types may have",
             "// words that are not listed here."]
    for name in GIVEN:
        lines += ["", *about(document.schemas[GIVEN[name]]["description"]), f"export interface {name} {{"]
        for field, inner in document.given(name):
            lines += [*about(document.words_about(inner), "  "), f"  {field}?: {kind(inner)};"]
        lines.append("}")
    given = [reference for name in GIVEN for _, inner in document.given(name) for reference in references(inner)]
    for name in document.reached([*ANSWERED, *ASKED, *given, *datas.values()]):
        schema = document.schemas[name]
        lines += ["", *about(schema.get("description") or f"The `{name}` of the service's description.")]
        words = known_words(schema)
        if document.is_object(name):
            lines.append(f"export interface {name} {{")
            for field, inner, required in document.fields(schema):
                words_about = document.words_about(inner)
                lines += about(words_about, "  ") if words_about else []
                lines.append(f"  {field}{'' if required else '?'}: {kind(inner)};")
            lines.append("}")
        elif words:
            options = [json.dumps(word) for word in words] + ["(string & {})"]
            line = f"export type {name} = {' | '.join(options)};"
            lines += [line] if len(line) <= 120 else [f"export type {name} =", *[f"  | {option}" for option in options]]
            lines[-1] = lines[-1].removesuffix(";") + ";"
        else:
            open_form = [named(part) for part in schema.get("anyOf", []) if "$ref" in part]
            shape = " | ".join([*open_form, "(string & {})"]) if open_form else "string" if name in (*MONEY, SENT_MONEY) else "Record<string, unknown>" if name == "Metadata" else kind(schema)
            lines.append(f"export type {name} = {shape};")
    lines += ["", "/** The payload of each event, by its type. */", "export interface EventData {"]
    lines += [f'  "{event}": {data};' for event, data in sorted(datas.items())]
    return "\n".join([*lines, "}"]) + "\n"


def shapes(document: Document) -> str:
    """What TypeScript holds answers against, because its types are gone when it runs."""

    def kind(schema: dict[str, Any]) -> str:
        schema, nullable = without_null(schema)
        return plain(schema) + ("?" if nullable else "")

    def plain(schema: dict[str, Any]) -> str:
        if "$ref" in schema:
            name = named(schema)
            if name in MONEY:
                return "usdc"
            if name == "Timestamp":
                return "time"
            if name == "Metadata":
                return "object"
            return name if document.is_object(name) else plain(document.schemas[name])
        if schema.get("type") == "array":
            return f"{kind(schema['items'])}[]"
        kinds = {"integer": "number", "boolean": "boolean", "object": "object"}
        return kinds.get(schema.get("type", "string"), "string")

    lines = [f"// The fields of answers. {NOTE}", "", 'import type * as types from "./types.ts";', "",
             "/** The types that are answered. */", "export interface Answers {"]
    lines += [f"  {name}: types.{name};" for name in sorted(ANSWERED)]
    lines += ["}", "", "/** Each field with its kind. `?` after a name: may be left out; after a kind: may be `null`. */",
              "export const SHAPES: Record<string, Record<string, string>> = {"]
    for name in document.reached(ANSWERED):
        if document.is_object(name):
            lines.append(f"  {name}: {{")
            for field, inner, required in document.fields(document.schemas[name]):
                lines.append(f'    {field if required else json.dumps(field + "?")}: "{kind(inner)}",')
            lines.append("  },")
    lines += ["};", "", "/** The fields of a policy that are amounts. */",
              f"export const LIMITS = {json.dumps(document.limits())} as const;", "",
              "/** The fields of answers that are USDC as JSON numbers. */",
              f"export const NUMBERS = {json.dumps(sorted(numbers_of(document.schemas)))};"]
    return "\n".join(lines) + "\n"


def wrapped(text: str, begin: str, end: str, indent: str | None = None) -> list[str]:
    text = " ".join(text.split())
    if len(begin) + len(text) + len(end) <= 120:
        return [f"{begin}{text}{end}"]
    later = indent if indent is not None else " " * (len(begin) - len(begin.lstrip()))
    if indent is not None:  # TypeScript
        lines = textwrap.wrap(text, 120 - len(later))
        return [begin.rstrip(), *[f"{later}{line}" for line in lines], f"{later.rstrip()}/"]
    lines = textwrap.wrap(text, 116 - len(later), initial_indent=begin.strip(), break_long_words=False)
    return [f"{later}{lines[0]}", *[f"{later}{line}" for line in lines[1:]], f"{later}{end}"]


SYNC_WORDS = [
    ("async for", "for"), ("async with", "with"), ("async def", "def"), ("await ", ""), ("AsyncIterator", "Iterator"),
    ("AsyncGenerator", "Generator"), ("__aiter__", "__iter__"), ("__aenter__", "__enter__"), ("__aexit__", "__exit__"),
    ("aclosing", "closing"), ("Async", ""), ("async", "sync"),
]


def synchronous(text: str) -> str:
    """The sync client: the async one without its words."""
    for word, other in SYNC_WORDS:
        text = text.replace(word, other)
    about, rest = text.split("\n", 1)
    return f"# {SYNC_NOTE}\n{about}\n{rest}"


def main() -> int:
    document = Document(json.load(sys.stdin))
    client = synchronous(ASYNC_CLIENT.read_text(encoding="utf-8"))
    files = {
        PYTHON: python(document), TYPESCRIPT: typescript(document), SHAPES: shapes(document), SYNC_CLIENT: client,
    }
    stale = False
    for path, text in files.items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path} is not what the document says: purser openapi | python3 sdk/generate.py", file=sys.stderr)
            stale = True
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
