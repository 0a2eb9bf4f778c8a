"""Validates JSON files against a JSON Schema: schema.py SCHEMA FILE...

A property that the schema does not describe is a failure too, wherever the schema leaves it open for later versions.
"""

import json
import sys

from jsonschema import Draft202012Validator, FormatChecker


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def close(part):
    if isinstance(part, dict):
        for inside in part.values():
            close(inside)
        if "properties" in part:
            part["unevaluatedProperties"] = False
    elif isinstance(part, list):
        for inside in part:
            close(inside)


schema, *files = sys.argv[1:]
schema = read(schema)
Draft202012Validator.check_schema(schema)
close(schema)
# Others add their own properties to it.
schema["$defs"]["reference"].pop("unevaluatedProperties")
validator = Draft202012Validator(schema, format_checker=FormatChecker())
failures = [
    f"{path}: {error.json_path}: {error.message}" for path in files for error in validator.iter_errors(read(path))
]
sys.exit("\n".join(failures) or None)
