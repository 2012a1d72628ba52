"""A node: the clients that live in one place, and how they answer a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, final, get_args

import numpy as np

from fedmgda._errors import FedmgdaError
from fedmgda._types import Split
from fedmgda.flower.node._hello import hello_of
from fedmgda.flower.node._holding import BuiltIn
from fedmgda.flower.node._own_file import OwnFile
from fedmgda.flower.node._pools import Pools, read_spec
from fedmgda.flower.node._terms import Terms
from fedmgda.flower.wire._messages import Answer, Question, WireError, question_from_bytes, to_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedmgda.clients import ClientPool
    from fedmgda.flower.node._holding import Holding
    from fedmgda.values import Cohort, Evaluation

__all__ = ["Node", "answer_as", "answer_bytes"]


@final
class Node:
    """One node of a federation.

    Before anything else it looks whether the spec of a question is one that it lets a server send.
    A node with a file of its own answers of that file only, unless it trusts whoever asks: then a
    spec without a schema means data that is built in, of which it takes its part as any other.
    """

    def __init__(self, config: Mapping[str, Any], pools: Pools) -> None:
        """Be the node that Flower's node config describes.

        Raises:
            SpecError: If the config is wrong.
        """
        self._config, self._pools = config, pools
        self._own = OwnFile.of_config(config)
        self._terms = Terms.of_config(config)

    def answer(self, question: Question) -> Answer:
        """Answer a question; what goes wrong is in the answer, never raised."""
        sentence = str if self._own is None else self._own.sentence
        try:
            return self._answer(question)
        except FedmgdaError as error:
            return question.refused(error.exit_code, sentence(error))
        except WireError as error:
            return question.refused(FedmgdaError.exit_code, str(error))
        except Exception as error:  # noqa: BLE001 (whatever a client's own code may do)
            said = f"its node raised {type(error).__name__}: {sentence(error)}"
            return question.refused(FedmgdaError.exit_code, said)

    def _answer(self, question: Question) -> Answer:
        spec = read_spec(question.wanted("spec", str), question.wanted("path", str))
        self._terms.check(spec)
        holding: Holding
        if self._own is not None and spec.data.schema is not None:
            holding = self._own
        else:
            holding = BuiltIn.of_config(self._config)
        early = holding.early(question, spec)
        if early is not None:
            answer = question.answered(*early)
        else:
            pool = self._pools.get(question, spec, holding)
            answer = _work(question, pool, holding.clients(question, pool.num_clients))
        return holding.public(question, spec, answer)


def _work(question: Question, pool: ClientPool, mine: list[int]) -> Answer:
    if question.phase == "hello":
        header, arrays = hello_of(pool, mine, initial=bool(question.header.get("initial")))
        return question.answered(header, arrays)
    ids = _ids(question.wanted("client_ids", list))
    strangers = [i for i in ids if i not in mine]
    if strangers:
        raise WireError(f"client {strangers[0]} is not of this node")
    match question.phase:
        case "train":
            return _trained(question, pool, ids)
        case "evaluate":
            return _evaluated(question, pool, ids)
        case "gradients":
            found = pool.gradients(question.array("params"), ids)
            return _of_cohort(question, found, {})
    raise WireError(f"this node answers no question of phase {question.phase!r}")


_POOLS = Pools()  # of this process, which is asked again and again


def answer_as(config: Mapping[str, Any], question: Question) -> Answer:
    """Answer a question as the node that a node config describes."""
    try:
        return Node(config, _POOLS).answer(question)
    except FedmgdaError as error:
        return question.refused(error.exit_code, str(error))


def answer_bytes(content: bytes) -> bytes:
    """Answer a question that came over a socket, with the node config in its header as `node`."""
    question = question_from_bytes(content)
    return to_bytes(answer_as(question.header.get("node") or {}, question))


def _trained(question: Question, pool: ClientPool, ids: list[int]) -> Answer:
    known_ids, losses = (question.arrays.get(key) for key in ("known_ids", "known_losses"))
    known = None
    if known_ids is not None and losses is not None:
        known = dict(zip(known_ids.tolist(), losses.tolist(), strict=True))
    params = question.array("params")
    cohort = pool.train_cohort(
        params,
        ids,
        question.wanted("round", int),
        gradients=bool(question.header.get("gradients", False)),
        known=known,
    )
    return _of_cohort(question, cohort, _also(question, pool, ids))


def _evaluated(question: Question, pool: ClientPool, ids: list[int]) -> Answer:
    split, told = _split(question.wanted("split", str)), bool(question.header.get("predictions"))
    found = pool.evaluate(question.array("params"), ids, split, predictions=told)
    arrays = _scores(found) | _also(question, pool, ids)
    if found.predictions is not None:
        rows = found.predictions
        arrays |= {
            "predictions.rows": rows.rows,
            "predictions.clients": rows.clients,
            "predictions.targets": rows.targets,
            "predictions.outputs": rows.outputs,
        }
    return question.answered({}, arrays, found.failures)


def _also(question: Question, pool: ClientPool, ids: list[int]) -> dict[str, NDArray[Any]]:
    """Answer what will be asked next of the same model; who fails at it is asked again."""
    arrays: dict[str, NDArray[Any]] = {}
    params = question.array("params")
    for wanted in question.header.get("also", ()):
        if wanted == "gradients":
            cohort = pool.gradients(params, ids)
            if not cohort.failures:
                found = _cohort_arrays(cohort)
                arrays |= {f"also.gradients.{name}": array for name, array in found.items()}
        else:
            evaluation = pool.evaluate(params, ids, _split(wanted))
            if not evaluation.failures:
                found = _scores(evaluation)
                arrays |= {f"also.{wanted}.{name}": array for name, array in found.items()}
    return arrays


def _of_cohort(question: Question, cohort: Cohort, more: dict[str, NDArray[Any]]) -> Answer:
    return question.answered({}, _cohort_arrays(cohort) | more, cohort.failures)


def _cohort_arrays(cohort: Cohort) -> dict[str, NDArray[Any]]:
    parts: dict[str, Any] = {
        "client_ids": np.array(cohort.client_ids, np.int64),
        "updates": np.asarray(cohort.updates),
        "num_examples": cohort.num_examples,
        "losses": cohort.losses,
        "local_losses": cohort.local_losses,
        "buffers": cohort.buffers,
        "gradients": None if cohort.gradients is None else np.asarray(cohort.gradients),
        "before": cohort.before,
    }
    return {name: part for name, part in parts.items() if part is not None}


def _scores(found: Evaluation) -> dict[str, NDArray[Any]]:
    return {
        "client_ids": np.array(found.client_ids, np.int64),
        "losses": found.losses.T,  # a row for each client, with a column for each of k models
        "accuracies": found.accuracies.T,
    }


def _ids(values: list[Any]) -> list[int]:
    if any(isinstance(value, bool) or not isinstance(value, int) for value in values):
        raise WireError("client_ids are no whole numbers")
    return values


def _split(name: str) -> Split:
    if name not in get_args(Split):
        raise WireError(f"there is no split {name!r:.40}")
    return cast("Split", name)
