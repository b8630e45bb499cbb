"""Schemathesis asks a server for what its description allows, and for what it does not.

    python3 schemathesis_run.py http://127.0.0.1:8080

Every answer has a status, a type, headers and a body as described, and none is the server's
fault. The cases are the same in every run.
"""
import os
import sys
import tempfile

import schemathesis
from schemathesis.cli import schemathesis as command


@schemathesis.serializer("application/x-ndjson")
def lines(_, value):
    """A text with a value in each line is sent as it is."""
    return value if isinstance(value, bytes) else str(value).encode()


site = sys.argv[1]
sys.argv[1:] = [
    "run", site + "/openapi.json", "--url", site, "--seed", "1", "--max-examples", "5", "--phases", "examples,fuzzing",
    "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
    # Methods that write are refused here: no collection takes writes. Answers that follow events do not end.
    "--include-method", "GET", "--include-method", "POST", "--exclude-path-regex", "/events$",
    "--continue-on-failure", "--request-timeout", "10", "--warnings", "off", "--no-color", "--no-shrink",
]
with tempfile.TemporaryDirectory() as kept:
    os.chdir(kept)  # it keeps what it found in the directory where it runs
    command()
