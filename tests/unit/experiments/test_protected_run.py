"""Protection in a run folder: the key, the record, the end, and that nothing depends on luck."""

import hashlib

import numpy as np
import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import RunFolder, Spec, execute, open_run, parse, resolve
from fedmgda.experiments._build import build_pool
from fedmgda.experiments._build_data import build_data
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.experiments._tag import spec_tag
from fedmgda.experiments._toml import parse_toml, to_toml, with_overrides
from fedmgda.values import WrappedClients
from runs import carry_on, finished_run, results, small_spec, stopped_run

PROTECTED = {"server": {"protect": True, "lr": 3.0}, "rounds": 12, "clients": {"per_round": 3}}
# A step so long that one trial is never enough: round after round is held.
STATIONARY = {
    "rounds": 20,
    "server": {"protect": {"patience": 4, "trials": 1}, "lr": 1e6},
    "evaluation": {"every": 3},
}


@pytest.fixture(scope="module")
def protected(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("protected") / "run", **PROTECTED).path


def test_a_model_that_answers_otherwise_each_time_is_refused(tmp_path):
    model = {"name": "batch_norm:Fickle"}
    with pytest.raises(SpecError, match=r"gives another one each time: [\d.]+ and [\d.]+ on"):
        finished_run(tmp_path / "protected", **PROTECTED, model=model)
    assert finished_run(tmp_path / "plain", rounds=1, model=model).done


class TestKey:
    def test_true_is_a_table_of_defaults_and_false_is_none(self):
        assert small_spec(server={"protect": True}).server.protect == ProtectSpec()
        assert small_spec(server={"protect": False}).server.protect is None

    def test_a_table_may_name_some_of_its_keys(self):
        spec = small_spec(server={"protect": {"allow": 1}})
        assert spec.server.protect == ProtectSpec(allow=1)

    def test_it_is_read_back_as_it_was_written(self, tmp_path):
        spec = small_spec(server={"protect": {"margin": 0.5, "patience": 3}})
        assert resolve(parse(Spec, parse_toml(to_toml(spec).encode(), tmp_path))) == spec

    def test_one_key_of_it_can_be_overridden(self):
        table = with_overrides({"server": {"protect": True}}, ["server.protect.allow=2"])
        assert parse(Spec, table).server.protect == ProtectSpec(allow=2)

    def test_a_spec_without_it_is_the_spec_it_was(self):
        without, off = small_spec(), small_spec(server={"protect": False})
        assert spec_tag(without) == spec_tag(off)
        assert "protect" not in to_toml(off)
        assert spec_tag(without) != spec_tag(small_spec(server={"protect": True}))

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            ({"protect": "yes"}, "server.protect must be true or false or a table"),
            ({"protect": {"alow": 1}}, "did you mean 'server.protect.allow'"),
            ({"protect": {"allow": -1}}, "server.protect.allow must be at least 0"),
            ({"protect": {"margin": 2}}, r"server.protect.margin must lie in \[0, 1\]"),
        ],
    )
    def test_what_does_not_fit_is_one_sentence(self, table, words):
        with pytest.raises(SpecError, match=words):
            small_spec(server=table)

    @pytest.mark.parametrize("rule", [{}, {"average_iterates": True}])
    def test_an_average_is_not_protected_and_the_remedy_is_one(self, rule):
        with pytest.raises(SpecError, match=r"set rule\.average_iterates to false"):
            small_spec(server={"protect": True}, rule={"name": "afl", **rule})
        small_spec(server={"protect": True}, rule={"name": "afl", "average_iterates": False})

    @pytest.mark.parametrize("clients", [{"per_round": 2}, {"only": [0, 3]}])
    def test_to_allow_everybody_is_no_protection(self, clients):
        for allow in (2, 99):
            with pytest.raises(SpecError, match=f"allow = {allow} protects nobody, as 2 take part"):
                small_spec(server={"protect": {"allow": allow}}, clients=clients)
        small_spec(server={"protect": {"allow": 1}}, clients=clients)

    def test_a_baseline_has_no_step_to_protect(self):
        assert small_spec(server={"protect": True}, baseline="alone").server.protect is None


class TestRecord:
    def test_no_loss_rose_in_any_round(self, protected):
        for row in open_run(protected).rounds:
            assert row.held or (row.protection.after <= row.protection.before).all()
            assert row.improved == 100.0
            np.testing.assert_array_equal(row.losses_before, row.protection.before)
            if not row.held:
                np.testing.assert_array_equal(row.losses_after, row.protection.after)

    def test_without_protection_they_do(self, tmp_path):
        finished_run(tmp_path / "run", **PROTECTED | {"server": {"lr": 3.0}})
        assert any(row.improved < 100.0 for row in open_run(tmp_path / "run").rounds)

    def test_the_matrix_of_the_unit_gradients_is_kept(self, protected):
        run = open_run(protected)
        for number, row in enumerate(run.rounds, 1):
            gram = run.cone_gram(number).matrix
            np.testing.assert_array_equal(np.diagonal(gram), np.ones(3))
            updates = run.gram(number).matrix
            np.testing.assert_allclose(np.sqrt(np.diagonal(updates)), row.norms)

    def test_without_matrices_there_is_none(self, tmp_path):
        finished_run(tmp_path / "run", **PROTECTED, records={"gram": False})
        assert open_run(tmp_path / "run").cone_gram(1) is None

    def test_the_last_round_names_the_model(self, protected):
        content = (protected / "model.safetensors").read_bytes()
        assert (
            open_run(protected).rounds[-1].protection.model == hashlib.sha256(content).hexdigest()
        )

    def test_rounds_of_a_run_without_it_say_nothing_of_it(self, tmp_path):
        finished_run(tmp_path / "run")
        assert b"protection" not in (tmp_path / "run" / "rounds.jsonl").read_bytes()


class TestSameBytes:
    @pytest.mark.parametrize("path", ["compiled", "torch"])
    def test_stopped_and_resumed(self, tmp_path, path):
        table = PROTECTED | {"clients": {"per_round": 3, "path": path}}
        finished_run(tmp_path / "whole", **table)
        for after in (1, 5, 11):
            stopped_run(tmp_path / str(after), after=after, **table)
            carry_on(tmp_path / str(after))
            assert results(tmp_path / str(after)) == results(tmp_path / "whole")

    @pytest.mark.parametrize("path", ["compiled", "torch"])
    def test_with_two_workers(self, tmp_path, path):
        table = PROTECTED | {"clients": {"per_round": 3, "path": path}}
        finished_run(tmp_path / "one", **table)
        finished_run(tmp_path / "two", **table, engine={"workers": 2})
        assert results(tmp_path / "one") == results(tmp_path / "two")


class TestStationary:
    def test_so_many_held_rounds_end_the_run_and_it_reads_as_finished(self, tmp_path):
        finished_run(tmp_path / "run", **STATIONARY)
        run = open_run(tmp_path / "run")
        run.check()
        ended = len(run.rounds)
        assert run.finished
        assert ended == 6
        assert all(row.held for row in run.rounds)
        assert run.evaluations[-1].round_num == ended

    def test_resumed_before_its_end_it_ends_there_too(self, tmp_path):
        finished_run(tmp_path / "whole", **STATIONARY)
        last = len(open_run(tmp_path / "whole").rounds)
        for after in (last - 1, last):
            stopped_run(tmp_path / str(after), after=after, **STATIONARY)
            carry_on(tmp_path / str(after))
            assert results(tmp_path / str(after)) == results(tmp_path / "whole")


class _Counting(WrappedClients):
    """Clients that count how often a training split is evaluated, model by model."""

    def __init__(self, inner):
        super().__init__(inner)
        self.models = 0

    def evaluate(self, params, client_ids, split, *, predictions=False):
        self.models += (split == "train") * len(np.atleast_2d(params))
        return super().evaluate(params, client_ids, split, predictions=predictions)


def test_no_loss_is_measured_twice(tmp_path):
    spec = small_spec(**PROTECTED)
    with build_pool(spec, build_data(spec)[0]) as pool:
        counting = _Counting(pool)
        folder = RunFolder.create(tmp_path / "run", spec)
        for _ in execute(folder, counting):
            pass
    tried = sum(len(row.protection.opposed) for row in open_run(tmp_path / "run").rounds)
    assert counting.models == tried


class _Losing(WrappedClients):
    """Clients the last of whom is gone when losses are asked for, and not even named."""

    def evaluate(self, params, client_ids, split, *, predictions=False):
        left = client_ids[:-1] if split == "train" else client_ids
        return super().evaluate(params, left, split, predictions=predictions)


def test_who_is_lost_is_written_down_as_not_known(tmp_path):
    table = PROTECTED | {"server": {"protect": {"allow": 1}}}
    spec = small_spec(**table)
    with build_pool(spec, build_data(spec)[0]) as pool:
        for _ in execute(RunFolder.create(tmp_path / "run", spec), _Losing(pool)):
            pass
    steps = [row for row in open_run(tmp_path / "run").rounds if not row.held]
    assert steps
    for row in steps:
        assert row.protection.opposed[-1] == row.client_ids[-1:]
        np.testing.assert_array_equal(row.losses_after, row.protection.after)
        assert np.isnan(row.losses_after).tolist() == [False, False, True]
