"""The phrases in which pages cite results/chance, made of its numbers; tests look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import chance
import chance_runs
from _measured import read_measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from _measured import Measured

    Found: TypeAlias = Mapping[tuple[str, str, str], Measured]


def phrases(found: Found) -> dict[str, list[str]]:
    """Return what must stand in a file, to the letter, by the path of the file."""
    eight = _percent(found, "interval of the gain", "rows=8", "held")
    return {
        "docs/compare.md": [
            *_steps_and_budgets(found),
            *_joining(found),
            *_shortened(found),
            *_rare_errors(found),
            *_intervals(found),
            *_over_seeds(found),
        ],
        "docs/runs.md": [*_verdicts(found)],
        "README.md": [_joining_ames(found)],
        "src/fedmgda/metrics/_intervals.py": [
            f"of 8, an interval at 95 % is one at {eight} %",
        ],
    }


def _steps_and_budgets(found: Found) -> Iterator[str]:
    def of(run: str, measure: str, form: str = "g") -> str:
        return f"{found['longer alone', run, measure].value:{form}}"

    def losses(table: str, unit: str = "") -> str:
        alone, longer = f"{table} alone", f"{table} alone, all rounds"
        return (
            f"{of(alone, 'loss', '.3f')} with {of(alone, 'rounds')}{unit} and "
            f"{of(longer, 'loss', '.3f')} with {of(longer, 'rounds')}"
        )

    ames, hsb82 = (
        f"{of(f'{table} federation', 'client_lr')} and {of(f'{table} pooled', 'client_lr')}"
        for table in ("ames", "hsb82")
    )
    yield f"(Ames, seed 0: {ames}; hsb82: {hsb82})"
    yield (
        f"{of('ames federation', 'loss', '.3f')} for the federation, "
        f"{of('ames alone', 'loss', '.3f')} for {of('ames alone', 'rounds')} rounds alone, which "
        f"is the equal budget, and {of('ames alone, all rounds', 'loss', '.3f')} for all "
        f"{of('ames alone, all rounds', 'rounds')} rounds alone"
    )
    yield f"{losses('hsb82', ' rounds')}, {losses('exam')}."


def _joining(found: Found) -> Iterator[str]:
    for table in chance_runs.FIVE:
        better, worse, usual, most = (
            found["joining", table, measure]
            for measure in ("better", "worse", "worse by chance", "worse by chance 95")
        )
        yield (
            f"| {table} | {better.repeats} | {better.value:g} | {worse.value:g} | "
            f"{usual.value:.1f} ({most.value:g}) |"
        )


def _joining_ames(found: Found) -> str:
    worse, usual = (found["joining", "ames", name] for name in ("worse", "worse by chance"))
    return (
        f"Over {len(chance_runs.SEEDS)} seeds {worse.value:g} of {worse.repeats} come out worse "
        f"than alone, where the chance of test rows makes {usual.value:.1f}"
    )


def _shortened(found: Found) -> Iterator[str]:
    def of(table: str, measure: str, form: str = "g") -> list[str]:
        return [
            f"{found['one run, ended earlier', f'{table} rounds={n}', measure].value:{form}}"
            for n in chance_runs.LENGTHS[1:]
        ]

    def clients(table: str) -> int:
        case = f"{table} rounds={chance_runs.LENGTHS[1]}"
        return found["one run, ended earlier", case, "worse"].repeats

    def by_chance(table: str) -> tuple[str, str]:
        (usual,), (most,) = (
            set(of(table, "worse by chance", ".1f")),
            set(of(table, "worse by chance 95")),
        )
        return usual, most

    usual, most = by_chance("ames")
    yield (
        f"{_listed(of('ames', 'worse'))} of {clients('ames')} clients are called worse "
        f"({_listed(of('ames', 'better'))} better), where the chance of the test rows says "
        f"{usual}, and {most} at most."
    )
    usual, most = by_chance("exam")
    worse = _listed(of("exam", "worse"))
    yield f"On exam, {clients('exam')} clients: {worse}, where it says {usual} ({most})."


def _rare_errors(found: Found) -> Iterator[str]:
    study = "rare large errors"
    ten, twenty = (_percent(found, study, f"rows={n}", "better") for n in chance.RARE_ROWS)
    yield (
        f"with an error of {chance.OFTEN_SQUARE**0.5:.2f} and, at a probability of {chance.RARE:g} "
        f"for each row, of {chance.RARE_SQUARE**0.5:.2f}, against 1 everywhere"
    )
    yield (
        f"in {ten} % of {_repeats(found, study)} simulated clients with 10 rows and in "
        f"{twenty} % of those with 20"
    )


def _intervals(found: Found) -> Iterator[str]:
    gain, auc = "interval of the gain", "interval of the AUC"
    held = [_percent(found, gain, f"rows={n}", "held") for n in chance.INTERVAL_ROWS]
    yield f"correlate by {chance.CORRELATION:g} ({_repeats(found, gain)} repeats)"
    yield f"| test rows | {' | '.join(map(str, chance.INTERVAL_ROWS))} |"
    yield f"| 95 % interval holds the gain in | {' | '.join(f'{x} %' for x in held)} |"
    cases = [f"rows={n} positives={p}" for n, p in chance.AUC_ROWS]
    one, two, three = (_percent(found, auc, case, "held") for case in cases)
    gains = [_percent(found, auc, case, "held the gain") for case in cases]
    yield (
        f"in {one} % (10 rows, 1 positive), {two} % (20 rows, 2) and {three} % (10 rows, 2) of "
        f"{_repeats(found, auc)} simulated cases (of the gain of one model over another of equal "
        f"quality: {_listed(gains)} %)"
    )


def _over_seeds(found: Found) -> Iterator[str]:
    def of(measure: str, digits: int) -> list[str]:
        cases = [f"seeds={n}" for n in chance.SEED_COUNTS]
        return [_percent(found, "seeds", case, measure, digits) for case in cases]

    yield (
        f"each seed testing {chance.ROWS_OF_A_TEST} of a client's {chance.ROWS_OF_A_CLIENT} rows, "
        f"{_repeats(found, 'seeds')} clients, the client is called worse in "
        f"{_listed(of('worse', 1))} % of cases for {_listed(map(str, chance.SEED_COUNTS))} seeds, "
        f"where 5 % is meant ({of('worse if drawn anew', 1)[-1]} % for {chance.SEED_COUNTS[-1]} "
        f"seeds, if each seed drew anew), and the interval holds the gain in "
        f"{_listed(of('held', 0))} % ({of('held if drawn anew', 0)[-1]} %)"
    )


def _verdicts(found: Found) -> Iterator[str]:
    def of(measure: str) -> str:
        return f"{found['no signal', 'all tables', measure].value:g}"

    yield (
        f"({chance_runs.NOISE_CLIENTS} clients of {chance_runs.NOISE_ROWS} rows, {of('test rows')} "
        f"test rows in all, {chance_runs.NOISE_ROUNDS} rounds, classes and values) {of('learned')} "
        f"of {_repeats(found, 'no signal')} runs were called `learned` and "
        f"{of('may have learned')} `may have learned`; by the 1 % alone {of('1 % below')} would "
        "have been"
    )
    ten, twenty = (
        _percent(found, "differences", f"rows={n}", "long tail to the left", 1)
        for n in chance.SKEWED_ROWS
    )
    yield f"{ten} % of clients with ten rows and {twenty} % with twenty"


def _percent(found: Found, study: str, case: str, measure: str, digits: int = 0) -> str:
    return f"{100 * found[study, case, measure].value:.{digits}f}"


def _repeats(found: Found, study: str) -> str:
    (number,) = {row.repeats for row in found.values() if row.study == study}
    return f"{number:,}"


def _listed(values: Iterator[str] | list[str]) -> str:
    *others, last = values
    return f"{', '.join(others)} and {last}"


def main() -> None:
    """Print what the pages should say."""
    for path, wanted in phrases(read_measured("simulated") | read_measured("trained")).items():
        print(path, *wanted, sep="\n  ")


if __name__ == "__main__":
    main()
