# SPDX-License-Identifier: Apache-2.0
"""Checks a JSON file against a schema; needs only Python's own library.

check_schema.py SCHEMA.json FILE.json

Knows the words that docs/assay-report-1.schema.json uses; an unknown word in
the schema is an error, so that none is passed over silently. Fields that the
schema does not name are errors too: the schema describes what is written.
"""

import json
import re
import sys

ANNOTATIONS = {"$schema", "title", "description", "$defs"}
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool,
    "null": type(None),
}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(value, schema, root, path, errors):
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        check(value, root["$defs"][name], root, path, errors)
        return
    for word, want in schema.items():
        if word == "type":
            names = want if isinstance(want, list) else [want]
            if not any(is_type(value, n) for n in names):
                errors.append("%s: %r is not %s" % (path, value, want))
                return
        elif word == "enum":
            if value not in want:
                errors.append("%s: %r is not one of %s" % (path, value, want))
        elif word == "const":
            if value != want:
                errors.append("%s: %r is not %r" % (path, value, want))
        elif word == "minimum":
            if is_type(value, "number") and value < want:
                errors.append("%s: %r is below %r" % (path, value, want))
        elif word == "pattern":
            if not re.search(want, value):
                errors.append("%s: %r does not match" % (path, value))
        elif word in ("minItems", "maxItems"):
            bad = value is not None and \
                (len(value) < want if word == "minItems" else
                 len(value) > want)
            if bad:
                errors.append("%s: %d items" % (path, len(value)))
        elif word == "required":
            if isinstance(value, dict):
                errors.extend("%s: '%s' is missing" % (path, k)
                              for k in want if k not in value)
        elif word == "properties":
            if isinstance(value, dict):
                for k, v in value.items():
                    if k not in want:
                        errors.append("%s: '%s' is not in the schema" %
                                      (path, k))
                    else:
                        check(v, want[k], root, path + "." + k, errors)
        elif word == "items":
            for i, v in enumerate(value or []):
                check(v, want, root, "%s[%d]" % (path, i), errors)
        elif word == "additionalProperties":
            pass  # never allowed here
        elif word not in ANNOTATIONS:
            sys.exit("the schema has the unknown word '%s'" % word)


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    report = json.load(open(sys.argv[2], encoding="utf-8"))
    errors = []
    check(report, schema, schema, "$", errors)
    for e in errors[:20]:
        print(e)
    sys.exit(1 if errors else 0)


main()
