"""Gives the tools of a file, as `tools/list` has them, to what stands between an MCP server and a model, and prints what is lost."""

import json
import sys

import llguidance
from agents.strict_schema import ensure_strict_json_schema
from anthropic import transform_schema
from anthropic.lib.tools.mcp import mcp_tool
from google.genai import _mcp_utils as google
from mcp.types import Tool

# What Google takes as the format of a type (https://ai.google.dev/api/caching#Schema).
FORMATS = {"string": {"date-time"}, "integer": {"int32", "int64"}, "number": {"float", "double"}}


def compiles(where, schema):
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    is_error, messages = llguidance.LLMatcher.validate_grammar_with_warnings(grammar, None)
    if is_error:
        yield f"{where}: llguidance refuses it: {messages}"


def is_plain(where, schema):
    """Every value has one type, said where it is used."""
    for word in ("$ref", "oneOf", "anyOf", "allOf", "not"):
        if word in schema:
            yield f"{where}: {word}"
    kind = schema.get("type")
    if not isinstance(kind, str):
        yield f"{where}: its type is {kind}"
        return
    if "format" in schema and schema["format"] not in FORMATS.get(kind, ()):
        yield f"{where}: format {schema['format']}"
    if "enum" in schema and kind != "string":
        yield f"{where}: an enum of {kind}"
    if kind == "array":
        yield from is_plain(f"{where}[]", schema["items"])
    for name, value in schema.get("properties", {}).items():
        yield from is_plain(f"{where}.{name}", value)


def keeps(where, given, converted):
    """What a converter made has the same arguments, of the same types."""
    kind = converted.get("type")
    # Words need no type beside them.
    if (kind or "").lower() != given["type"] and "enum" not in converted:
        yield f"{where}: {given['type']} became {kind}"
    have = converted.get("properties") or {}
    for name, value in given.get("properties", {}).items():
        if name not in have:
            yield f"{where}.{name}: lost"
        else:
            yield from keeps(f"{where}.{name}", value, have[name])
    if given["type"] == "array":
        yield from keeps(f"{where}[]", given["items"], converted["items"])


def is_open(schema):
    """Whether a value may have keys that nobody knows: no strict mode has that."""
    return schema["type"] == "object" and "properties" not in schema or any(map(is_open, schema.get("properties", {}).values()))


def complaints(listed):
    name, arguments = listed["name"], listed["inputSchema"]
    yield from compiles(f"{name}: input", arguments)
    yield from compiles(f"{name}: output", listed["outputSchema"])
    yield from is_plain(name, arguments)
    tool = Tool.model_validate(listed)
    google_tool = google.mcp_to_gemini_tool(tool).model_dump(mode="json", exclude_none=True)
    yield from keeps(f"google-genai: {name}", arguments, google_tool["function_declarations"][0]["parameters"])
    yield from keeps(f"anthropic: {name}", arguments, mcp_tool(tool, None).to_dict()["input_schema"])
    if not is_open(arguments):
        yield from keeps(f"anthropic, strict: {name}", arguments, transform_schema(arguments))
        strict = ensure_strict_json_schema(json.loads(json.dumps(arguments)))
        yield from compiles(f"OpenAI, strict: {name}", strict)


tools = json.load(open(sys.argv[1]))
for tool in tools:
    for complaint in complaints(tool):
        print(complaint)
print(f"{len(tools)} tools")
