"""Hold two sides of `sweepbook compare --output json` against each other.

    sweepbook compare A B --output json | agree.py A B [--report] [METRIC=REASON...]

Prints each metric that both sides have, and by how much they differ. Ends with
1 when one differs by more than one percent and no REASON is given for it: those
are the differences of definition that docs/ruler.md explains. With --report
nothing is judged.
"""

import json
import sys

LIMIT = 0.01


def main() -> int:
    names, rest = sys.argv[1:3], sys.argv[3:]
    judged = "--report" not in rest
    reasons = dict(a.split("=", 1) for a in rest if a != "--report")
    rows = json.load(sys.stdin)["metrics"]
    print(f"| metric | {names[0]} | {names[1]} | differs by | |")
    print("| --- | --- | --- | --- | --- |")
    differ, compared = [], 0
    for row in rows:
        name, a, b = row["metric"], row["base"], row["value"]
        if a is None or b is None:
            continue
        compared += 1
        off = abs(a - b) / abs(a) if a else float(a != b)
        verdict = "agrees" if off <= LIMIT else reasons.get(name, "DIFFERS" if judged else "")
        if verdict == "DIFFERS":
            differ.append(name)
        print(f"| `{name}` | {a:.6g} | {b:.6g} | {off:.2%} | {verdict} |")
    if compared == 0:
        print("agree.py: no metric is on both sides", file=sys.stderr)
        return 1
    if differ:
        print("agree.py: more than one percent apart without a reason: " + ", ".join(differ), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
