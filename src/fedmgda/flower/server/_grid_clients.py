"""The clients of a federation whose nodes are asked over Flower's grid."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import FederationStalledError
from fedmgda.experiments import to_toml
from fedmgda.flower.server._foretold import Foretold, Shapes, scores
from fedmgda.flower.server._gather import cohort_of, evaluation_of, read_rows
from fedmgda.flower.server._greeting import Greeter
from fedmgda.flower.server._hello import Hello, facts_of
from fedmgda.flower.server._node_questions import NodeQuestions
from fedmgda.flower.server._single_rows import Expected, predictions_of
from fedmgda.flower.server._worth import gradient_worth, score_worth, sorted_out
from fedmgda.flower.wire._messages import WireError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.experiments import Spec
    from fedmgda.flower.server._grid_exchanges import GridExchanges
    from fedmgda.flower.server._node_files import NodeFiles
    from fedmgda.flower.server._node_questions import Replies
    from fedmgda.flower.server._roster import Roster
    from fedmgda.values import ClientFacts, Clients, Cohort, Evaluation, Predictions

__all__ = ["GridClients"]

_ENTRIES_AT_ONCE = 1 << 26  # numbers of all models in one message: 256 MB


@final
class GridClients:
    """The protocol `Clients` over Flower: one message to a node carries all its clients.

    A client fails at once where no node answers for it, and where its node did not answer before
    in the same round; so no round takes much longer than its deadline.

    Attributes:
        num_clients: n; ids go from 0 to n - 1.
        num_params: d, the number of parameters of the model.
        num_buffers: The entries of its float buffers, which follow the parameters in the vector.
        path: What computes on all nodes: "compiled" or "torch", fixed here.
        client_names: What the clients are called, where they have names.
        models_at_once: As many as go into one message.
    """

    num_clients: int
    num_params: int
    num_buffers: int
    path: str
    client_names: tuple[str, ...] | None
    models_at_once: int

    def __init__(
        self,
        exchanges: GridExchanges,
        roster: Roster,
        spec: Spec,
        num_nodes: int,
        files: NodeFiles | None = None,
    ) -> None:
        """Meet the nodes.

        Args:
            exchanges: How they are asked.
            roster: Who answers for whom.
            spec: The resolved spec; `engine.client_timeout` is the deadline of an exchange.
            num_nodes: How many nodes to wait for, as long.
            files: What is known of the nodes' own files, where they have some.
        """
        self._files, self._spec = files, spec
        deadline = spec.engine.client_timeout
        header: dict[str, Any] = {"spec": to_toml(spec), "path": spec.clients.path}
        header["deadline"] = deadline
        self._greeter = Greeter(exchanges, roster, header, files)
        hellos = self._greeter.meet_all(num_nodes, deadline)
        holders = roster.holders
        first = hellos[holders[0]]
        self.num_clients = first.num_clients
        self.num_params, self.num_buffers = first.num_params, first.num_buffers
        self.client_names = _names(hellos, holders)
        # Who cannot use the kernels, or finds them slower, decides for all.
        torch = any(hellos[node].path == "torch" for node in holders.values())
        self.path = "torch" if torch else "compiled"
        header["path"] = self.path
        self._nodes = NodeQuestions(exchanges, roster, header, files)
        size = self.num_params + self.num_buffers
        self.models_at_once = max(1, _ENTRIES_AT_ONCE // max(1, size))
        facts = facts_of(hellos, holders)
        self._facts = facts if files is None else files.facts(facts)
        self._initial = first.initial
        self._shapes = Shapes(self.num_params, self.num_buffers)
        self._foretold = Foretold(self._shapes, self._facts)

    @property
    def facts(self) -> ClientFacts:
        """What the nodes said of their clients."""
        return self._facts

    def initial_params(self) -> Vector:
        """Return the initial model of the seed, as the node of client 0 makes it."""
        if self._initial is None:
            self._initial = self._ask_initial()
        return self._initial.copy()

    def _ask_initial(self) -> Vector:
        why = "it is not in its answer"
        try:
            found = Hello.of(self._nodes.ask_initial()).initial
        except WireError as error:
            found, why = None, str(error)
        if found is None or len(found) != self.num_params + self.num_buffers:
            raise FederationStalledError(
                f"The node of client 0 did not send the initial model ({why}); look at the node, "
                "and start again."
            )
        return found

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let each client train the model, in one exchange."""
        self._nodes.begin(round_num)
        self._foretold.clear()
        self._greeter.meet_new(round_num)
        also = ["train"] if self._wants_before(round_num) and not gradients else []
        header = {"gradients": gradients, "also": also}
        replies = self._nodes.ask("train", header, params, client_ids, known)
        columns = self._shapes.trained(gradients=gradients)
        rows, reasons = read_rows(replies.heard, replies.asked, columns)
        self._foretold.keep(also, params, client_ids, replies.heard, replies.asked)
        return cohort_of(rows, reasons | replies.absent, client_ids, columns)

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Return loss and accuracy of one model, or of k, for each client on one split.

        With the test losses of a model comes what the spec will ask next of it.
        """
        known = self._foretold.evaluation(split, params, client_ids)
        if known is not None and not predictions:
            return known
        alone = split == "test" and params.ndim == 1 and not predictions
        also = self._asked_next() if alone else []
        num_models = None if params.ndim == 1 else len(params)
        header = {"split": split, "predictions": predictions, "also": also}
        replies = self._nodes.ask("evaluate", header, params, client_ids)
        rows, reasons = read_rows(replies.heard, replies.asked, scores(num_models))
        worth = score_worth(self._facts, split)
        rows, reasons = sorted_out(rows, reasons, worth)
        self._foretold.keep(also, params, client_ids, replies.heard, replies.asked)
        sizes = self._facts.sizes[split][list(client_ids)].astype(np.float64)
        found = evaluation_of(rows, reasons | replies.absent, client_ids, sizes, num_models)
        return (
            replace(found, predictions=self._single(replies, rows, split)) if predictions else found
        )

    def _single(
        self, replies: Replies, evaluated: Collection[int], split: Split
    ) -> Predictions | None:
        """Return the single rows that nodes told of; what is left out is written down."""
        rows = None if self._facts.rows is None else self._facts.rows[split]
        expected = Expected(
            sizes=self._facts.sizes[split],
            rows=rows,
            numbered=self._files is not None,
            num_classes=self._facts.num_classes,
        )
        everyone = range(self.num_clients)
        found, left = predictions_of(replies.heard, replies.asked, everyone, evaluated, expected)
        self._nodes.refuse(replies, left)
        if found is None or self._files is None:
            return found
        return self._files.numbered(found, self._facts.sizes[split])

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Cohort:
        """Return ∇f_i and f_i over each client's training split, in eval mode, as a cohort."""
        known = self._foretold.gradients(params, client_ids)
        if known is not None:
            return known
        columns = self._shapes.differentiated()
        replies = self._nodes.ask("gradients", {}, params, client_ids)
        rows, reasons = read_rows(replies.heard, replies.asked, columns)
        rows, reasons = sorted_out(rows, reasons, gradient_worth)
        self._nodes.refuse_clients(replies, reasons)
        return cohort_of(rows, reasons | replies.absent, client_ids, columns)

    def close(self) -> None:
        """Let the nodes go: nothing is held here."""

    def _wants_before(self, round_num: int) -> bool:
        """Tell whether f_i(w_t) will be asked for by itself after a round."""
        improved = self._spec.evaluation.improved_is_due(round_num)
        return improved and self._spec.clients.reported_loss == "during"

    def _asked_next(self) -> list[str]:
        """Return what the spec asks of a model after its test losses."""
        wanted = self._spec.evaluation
        return ["gradients"] * bool(wanted.pareto) + ["validation"] * (wanted.measure is not None)


def _names(hellos: Mapping[int, Hello], holders: Mapping[int, int]) -> tuple[str, ...] | None:
    names: list[str] = []
    for client, node in sorted(holders.items()):
        hello = hellos[node]
        if hello.client_names is None:
            return None
        names.append(hello.client_names[hello.client_ids.index(client)])
    return tuple(names)


if TYPE_CHECKING:

    def _is_a_kind_of_clients(clients: GridClients) -> Clients:
        return clients
