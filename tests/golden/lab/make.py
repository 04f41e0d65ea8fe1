"""
Runs the NumPy listings of one page of the Lab and keeps what they print in a file of its own (PAGE.json beside this one), so that the
page's own output can be compared with NumPy's. Needs Python 3 and NumPy; in the root of the repository:

    npx node tests/golden/lab/listings.ts PAGE | python3 tests/golden/lab/make.py > tests/golden/lab/PAGE.json
"""

import contextlib
import io
import json
import sys

listings = json.load(sys.stdin)
for listing in listings:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(listing["python"], listing["name"], "exec"), {})
    listing["printed"] = printed.getvalue().rstrip("\n")
json.dump(listings, sys.stdout, ensure_ascii=False, indent=2)
print()
