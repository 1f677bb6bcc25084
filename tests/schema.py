# SPDX-License-Identifier: MIT
"""The schema that `mmattach formats schema` prints, checked against what mmattach prints.

check(document) is called for each JSON document of mmattach that any test reads (conftest.py). It applies the
schema more strictly than it is published: members that the schema does not name are an error here, because
they are not documented.
"""
import copy
import functools
import json
import os
import pathlib
import subprocess

import jsonschema

TOP = pathlib.Path(__file__).parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
LONG = 12  # of longer lists only both ends are checked: some reports have thousands of groups


def closed(node):
    """The same schema, allowing only the members that it names."""
    if isinstance(node, dict):
        node = {key: closed(value) for key, value in node.items()}
        if "properties" in node:
            node.setdefault("additionalProperties", False)
    elif isinstance(node, list):
        node = [closed(value) for value in node]
    return node


@functools.cache
def validators():
    printed = subprocess.run([BUILD / "mmattach", "formats", "schema"], stdout=subprocess.PIPE, check=True).stdout
    schema = closed(json.loads(printed))
    jsonschema.Draft202012Validator.check_schema(schema)
    parts = {name: {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]} for name in ("report", "diff", "probes")}
    return {name: jsonschema.Draft202012Validator(part) for name, part in parts.items()}


def shortened(node):
    if isinstance(node, dict):
        return {key: shortened(value) for key, value in node.items()}
    if isinstance(node, list):
        return [shortened(value) for value in (node if len(node) <= 2 * LONG else node[:LONG] + node[-LONG:])]
    return node


def kind_of(document):
    return "diff" if "changes" in document else "probes" if "plans" in document else "report"


def is_ours(document):
    return isinstance(document, dict) and isinstance(document.get("mmattach"), dict) and "schema" in document["mmattach"]


def check(document):
    """Raises jsonschema.ValidationError, which contains the position."""
    validators()[kind_of(document)].validate(shortened(document))


def without(document, *path):
    """A copy that lacks the member at PATH."""
    document = copy.deepcopy(document)
    node = document
    for step in path[:-1]:
        node = node[step]
    del node[path[-1]]
    return document
