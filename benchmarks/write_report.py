"""Write the measured parts of docs/performance.md from the results; the prose around them stays.

A part stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from _goals import Results, goals
from _measure import RESULTS, ROOT, cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

PAGE = ROOT / "docs" / "performance.md"


def markdown_table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return rows as a Markdown table.

    Args:
        rows: One mapping per line.
        columns: From the keys that are shown to their headings.
    """
    lines = [[cell(row.get(key)) for key in columns] for row in rows]
    head = "| " + " | ".join(columns.values()) + " |"
    rule = "|" + "---|" * len(columns)
    return "\n".join([head, rule, *("| " + " | ".join(line) + " |" for line in lines)])


def fill(page: str, parts: Mapping[str, str]) -> str:
    """Put each part between its marks.

    Raises:
        ValueError: If the page has no place for a part.
    """
    for name, text in parts.items():
        opening, closing = f"<!-- bench:{name} -->\n", f"<!-- /bench:{name} -->"
        if (count := page.count(opening)) != 1:
            raise ValueError(f"The page must have one part {name!r}, found {count}.")
        before, _, rest = page.partition(opening)
        page = f"{before}{opening}{text}\n{closing}{rest.partition(closing)[2]}"
    return page


_W2 = {
    "eager_round_s": "torch eager, s / round",
    "ours_round_s": "ours, s / round",
    "ours_rounds_per_s": "ours, rounds / s",
    "eager_over_ours": "ratio",
}
_W3 = {
    "model": "model",
    "plain_samples_per_s": "plain torch, samples / s",
    "ours_samples_per_s": "ours, samples / s",
    "plain_over_ours": "ratio",
}
_EVALUATION = {
    "path": "path",
    "round_s": "round, s",
    "round_with_bookkeeping_s": "with f_i before and after, s",
    "evaluate_all_users_s": "training loss of all 100 users, s",
}
_PROTECTED = {
    "path": "path",
    "rule": "rule",
    "plain_cpu_s": "round, CPU s",
    "protected_cpu_s": "protected, CPU s",
    "trials": "lengths tried",
    "ratio": "ratio",
    "low": "95 % from",
    "high": "to",
}
_CROWDS = {
    "size": "m x d",
    "solver": "solver",
    "ms": "ms",
    "ratio": "over ours",
    "gap": "worst gap over ‖g_i‖²",
}
_CONES = {
    "family": "family",
    "m": "m",
    "min_norm_ms": "min_norm, ms",
    "cone_ms": "cone, ms",
    "over_min_norm": "ratio",
    "violation": "violation over bound",
    "gap": "gap over ‖z' - z‖²",
}
_GRAM = {
    "m": "m",
    "d": "d",
    "gramian_ms": "ours, ms",
    "float32_ms": "float32 GEMM, ms",
    "float64_ms": "float64 GEMM, ms",
    "gramian_over_float32": "ours over float32",
    "relative_error": "relative error of ours",
}
_LIMITS = {
    "gemm_gflops": "float32 GEMM, GFLOP/s",
    "copy_gb_per_s": "memory copy, GB/s",
    "w1_at_gemm_peak_s": "a W1 round at GEMM speed, s",
    "w1_share_of_gemm_peak": "our share of that speed",
}
_USERS = {
    "users": "users",
    "start_s": "start, s",
    "round_s": "round of 10, s",
    "peak_mb": "peak memory, MB",
    "data_mb": "of it data, MB",
}
_REPORT = {
    "what": "page of",
    "build_s": "made in, s",
    "build_cpu_s": "CPU s",
    "size_mb": "size, MB",
    "words_s": "words shown, s",
    "first_chart_s": "first chart drawn, s",
    "ready_s": "all drawn, s",
}


def _machine(results: Results) -> str:
    facts = results["w1"]["machine"]
    versions = {"python": facts["python"], **results["minnorm"]["machine"]["packages"]}
    versions |= facts["packages"]
    for row in results["w1"]["engines"]:
        versions |= row.get("versions", {})
    listed = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    load = max(
        results[name]["machine"]["load_average_before"] for name in results if name != "report"
    )
    return f"{facts['cpu']}, {facts['cores']} cores. {listed}. Load before the parts: up to {load}."


def _w1(rows: Sequence[dict[str, Any]]) -> str:
    columns = {
        "engine": "engine",
        "round_s": "s / round",
        "first_s": "start to end of first round, s",
        "peak_mb": "peak memory (PSS), MB",
    }
    failed = [
        f"- {row['engine']} failed {len(row['failures'])} times, last with: `{row['failures'][-1]}`"
        for row in rows
        if "failures" in row
    ]
    return "\n".join([markdown_table(rows, columns), *([""] if failed else []), *failed])


def _qp(record: Mapping[str, Any]) -> str:
    sizes = sorted({row["m"] for row in record["rows"]})
    lines = []
    for solver in dict.fromkeys(row["solver"] for row in record["rows"]):
        own = [row for row in record["rows"] if row["solver"] == solver]
        line: dict[str, Any] = {"solver": solver}
        for m in sizes:
            times = [row["ms"] for row in own if row["m"] == m]
            line[f"m{m}"] = f"{cell(min(times))} to {cell(max(times))}"
        line["gap"] = f"{max(row['relative_gap'] for row in own):.1e}"
        lines.append(line)
    lines += [{"solver": f"{name}: not measured"} for name in record["missing"]]
    heads = {f"m{m}": f"m = {m}, ms" for m in sizes}
    return markdown_table(lines, {"solver": "solver", **heads, "gap": "worst relative gap"})


def _crowds(record: Mapping[str, Any]) -> str:
    lines = []
    for m, d in dict.fromkeys((row["m"], row["d"]) for row in record["rows"]):
        here = [row for row in record["rows"] if row["m"] == m]
        for solver in dict.fromkeys(row["solver"] for row in here):
            own = [row for row in here if row["solver"] == solver]
            times = [row["ms"] for row in own]
            ratios = [row["over_ours"] for row in own]
            lines.append(
                {
                    "size": f"{m:,} x {d}",
                    "solver": solver,
                    "ms": f"{cell(min(times))} to {cell(max(times))}",
                    "ratio": f"{cell(min(ratios))} to {cell(max(ratios))}",
                    "gap": f"{max(row['gap'] for row in own):.1e}",
                }
            )
        for name, reason in record["missing"][str(m)].items():
            lines.append({"size": f"{m:,} x {d}", "solver": f"{name}: not measured, {reason}"})
    return markdown_table(lines, _CROWDS)


def _goals(results: Results) -> str:
    lines = []
    for goal in goals():
        value, met = goal.judge(results)
        lines.append({"what": goal.what, "goal": goal.wanted, "measured": value, "met": met})
    return markdown_table(lines, {name: name for name in lines[0]})


def _exponents(results: Results) -> str:
    powers = results["scaling"]["exponents"].items()
    lines = [{"curve": name, "exponent": power} for name, power in powers]
    return markdown_table(lines, {"curve": "curve", "exponent": "exponent"})


def _report(record: Mapping[str, Any]) -> str:
    facts = record["machine"]
    return (
        f"{markdown_table(record['rows'], _REPORT)}\n\n"
        f"Medians of {record['repeats']}; Chromium {facts['packages']['chromium']}; load before: "
        f"{facts['load_average_before']} on {facts['cores']} cores."
    )


PARTS: dict[str, Callable[[Results], str]] = {
    "goals": _goals,
    "machine": _machine,
    "w1": lambda r: _w1(r["w1"]["engines"]),
    "w2": lambda r: markdown_table([r["local"]["w2"]], _W2),
    "w3": lambda r: markdown_table(r["local"]["w3"], _W3),
    "evaluation": lambda r: markdown_table(r["local"]["evaluation"], _EVALUATION),
    "protected": lambda r: markdown_table(r["protected"]["rows"], _PROTECTED),
    "qp": lambda r: _qp(r["minnorm"]),
    "crowds": lambda r: _crowds(r["crowds"]),
    "cones": lambda r: markdown_table(r["cones"]["rows"], _CONES),
    "gram": lambda r: markdown_table(r["aggregation"]["gramian"], _GRAM),
    "limits": lambda r: markdown_table([r["scaling"]["limits"]], _LIMITS),
    "exponents": _exponents,
    "users": lambda r: markdown_table(r["scaling"]["users"], _USERS),
    "report": lambda r: _report(r["report"]),
}


def read_results(folder: Path) -> Results:
    """Return the records by name."""
    names = (
        "w1", "local", "protected", "minnorm", "crowds", "cones", "aggregation", "scaling",
        "report",
    )  # fmt: skip
    return {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names
    }


def main() -> None:
    """Rewrite the page."""
    try:
        results = read_results(RESULTS)
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} does not exist; run make bench.")
    parts = {name: write(results) for name, write in PARTS.items()}
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")
    for goal in goals():
        value, met = goal.judge(results)
        print(f"{met.strip('*'):>4}  {goal.what}: {value}, wanted {goal.wanted}")


if __name__ == "__main__":
    main()
