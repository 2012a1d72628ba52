"""A published study, read back: what was run, and what is kept of every run."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from fedmgda._errors import SpecError, StoreError
from fedmgda._files import read_file
from fedmgda._json import read_json
from fedmgda.experiments import Environment, spec_tag
from fedmgda.paper._records import LARGEST_RECORD, record_name, unpacked
from fedmgda.paper._setting import Setting, plan_study, seeds_of
from fedmgda.paper._study import STUDIES, load_study, study_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fedmgda.experiments import PlannedRun
    from fedmgda.paper._result import Result
    from fedmgda.paper._study import Study

__all__ = ["PublishedStudy", "open_published", "study_in"]

_LARGEST = 1 << 22  # bytes of any other file


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStudy:
    """The folder that `export_study` wrote.

    Attributes:
        folder: Where it is.
        study: Which study it holds, as this version has it.
        setting: How large it was run.
        finished: Whether the runs it keeps are finished; else none was.
        environments: Where its runs began.
        tags: For the name of every run that it planned, the digest of the spec it had.
    """

    folder: Path
    study: Study
    setting: Setting
    finished: bool
    environments: tuple[Environment, ...]
    tags: Mapping[str, str]

    def result(self, run: PlannedRun) -> Result | None:
        """Return what is kept of a run, None if nothing is.

        Raises:
            StoreError: If the record cannot be read, or is that of another spec.
        """
        path = self.folder / record_name(run)
        if (content := read_file(path, LARGEST_RECORD)) is None:
            return None
        if self.tags.get(run.folder_name) != spec_tag(run.spec):
            raise StoreError(
                f"{path} is the record of a run of another spec; name a folder where this study "
                "was published with the same rounds, compat and changes."
            )
        try:
            return unpacked(run, content, done=self.finished, environments=self.environments)
        except (lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                f"{path} is no record of a run ({error}); publish the study again."
            ) from error


def open_published(folder: Path) -> PublishedStudy:
    """Open the folder of a published study.

    Raises:
        StoreError: If it holds none, or one that cannot be read.
    """
    study = study_in(folder)
    try:
        facts = _read(folder / "setting.json")
        setting = _setting(study, facts)
        environments = _read(folder / "environment.json")
        then = study_of(study.name, (folder / "spec.toml").read_text(encoding="utf-8"))
        return PublishedStudy(
            folder=folder,
            study=study,
            setting=setting,
            finished=facts["runs_finished"] > 0,
            environments=tuple(Environment(**found) for found in environments),
            tags={run.folder_name: spec_tag(run.spec) for run in plan_study(then, setting)},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SpecError) as error:
        raise StoreError(f"{folder} holds no published study that can be read: {error}.") from error


def study_in(folder: Path) -> Study:
    """Return the study that a folder holds, as this version has it, by the name of its table."""
    for name in STUDIES:
        if (folder / f"{name}.csv").is_file() and (folder / "setting.json").is_file():
            return load_study(name)
    raise StoreError(
        f"{folder} holds no published study: no setting.json beside the table of one; "
        "name a folder that was written with --publish."
    )


def _read(path: Path) -> Any:
    return read_json(read_file(path, _LARGEST) or b"")


def _setting(study: Study, facts: Mapping[str, Any]) -> Setting:
    seeds: list[int] = facts["seeds"]
    own = seeds_of(study, Setting(seeds=len(seeds)))
    return Setting(
        compat=facts["compat"],
        seeds=len(seeds) if own == seeds else range(seeds[0], seeds[-1] + 1),
        rounds=facts["rounds"],
        changes=tuple(facts["changes"]),
    )
