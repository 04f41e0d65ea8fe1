"""
Runs the NumPy listings of the Lab's pages and keeps what they print (expected.json), so that the pages' own output can be
compared with NumPy's. Made outside the repository, with Python 3.11 and NumPy 2.4:

    node tests/golden/lab/listings.ts > listings.json
    python tests/golden/lab/make.py listings.json > tests/golden/lab/expected.json
"""

import contextlib
import io
import json
import sys

listings = json.load(open(sys.argv[1], encoding="utf-8"))
for one in listings:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(one["python"], one["name"], "exec"), {})
    one["printed"] = printed.getvalue().rstrip("\n")
json.dump(listings, sys.stdout, ensure_ascii=False, indent=2)
print()
