"""Laws of the page as a whole: one file, nothing loaded, every text a text, no chart empty."""

import json
import re
import shutil
from html.parser import HTMLParser

import altair
import pytest
import vl_convert

from fedmgda._errors import DataError
from fedmgda.experiments import open_run
from fedmgda.report.page import build_page, is_page
from fedmgda.report.page._charts import number
from fedmgda.report.page._page import vega_script
from runs import FORMAT_1, copy_of, finished_run

HOSTILE = "<script>alert(1)</script>"


class Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def data_of(html):
    text = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', html)[1]
    return json.loads(text)


def values_of(table, column):
    cells = table["data"][table["columns"].index(column)]
    if isinstance(cells, list):
        return cells
    return [None if code is None else cells["levels"][code] for code in cells["codes"]]


def test_nothing_is_loaded_from_anywhere(page):
    elements = Elements(page.html).found
    assert not [e for e in elements if e[0] in {"link", "iframe", "img", "object", "embed", "base"}]
    for _, attributes in elements:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    style = re.search(r"<style>(.*?)</style>", page.html, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(a["content"] for t, a in elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_every_chart_is_valid_by_the_schema_and_has_rows(page):
    data = data_of(page.html)
    runs = set(data["runs"])
    palette = ["#000000"] * 8

    def filled(value):
        if isinstance(value, list):
            return [filled(one) for one in value]
        if not isinstance(value, dict):
            return value
        if value.keys() & {"$runs", "$meant", "$dashes", "$palette"}:
            return {"range": palette}
        return {key: filled(inner) for key, inner in value.items() if key != "$ink"}

    assert len(data["charts"]) >= 15
    for chart in data["charts"]:
        spec = filled(chart["spec"]) | {"data": {"values": []}}
        altair.Chart.from_dict(spec)
        table = data["tables"][chart["table"]]
        kept = range(len(table["data"][0] if isinstance(table["data"][0], list)
                         else table["data"][0]["codes"]))  # fmt: skip
        for column, value in chart["where"].items():
            cells = values_of(table, column)
            kept = [place for place in kept if cells[place] == value]
        assert kept, chart["name"]
        fields = set(re.findall(r'"field": "([^"]*)"', json.dumps(spec)))
        made = set(re.findall(r'"as": "([^"]*)"', json.dumps(spec)))
        assert fields <= set(table["columns"]) | made, chart["name"]
        if chart["runs"]:
            assert set(values_of(table, "run")) <= runs


def axes_of(spec):
    """Return every axis of a chart, with its channel."""
    if isinstance(spec, list):
        return [axis for one in spec for axis in axes_of(one)]
    if not isinstance(spec, dict):
        return []
    found = [
        (channel, one)
        for channel, one in spec.get("encoding", {}).items()
        if isinstance(one, dict) and one.get("axis")
    ]
    return found + [axis for one in spec.values() for axis in axes_of(one)]


def test_labels_of_an_axis_have_as_many_digits_as_its_steps_need(page):
    """Of five users between 77 and 82 % the ticks were 77, 77, 78, 78, and -1, -1, 0 the gains'."""
    formats = {
        one["axis"].get("format")
        for chart in data_of(page.html)["charts"]
        for _, one in axes_of(chart["spec"])
    }
    assert {"~%", ",~f"} <= formats
    assert [one for one in formats if one and re.search(r"\.\d", one)] == []


@pytest.mark.parametrize("end", [1.07e-5, 0.0109, 0.107, 1.07, 10.7, 1070.0])
def test_labels_of_an_axis_differ_beside_a_power_of_ten(end):
    """Of bars up to 0.011 seconds the last two ticks were 0.01 and 0.01."""
    spec = {
        "data": {"values": [{"seconds": end}]},
        "mark": "bar",
        "width": 480,
        "encoding": {"x": number("seconds", "seconds")},
    }
    texts = re.findall(r">([\d.,]+)</text>", vl_convert.vegalite_to_svg(spec))
    assert len(texts) > 5
    assert len({*texts}) == len(texts)


def test_a_line_at_the_best_or_the_worst_is_inside_its_scale(page):
    data = data_of(page.html)
    for chart in data["charts"]:
        if chart["name"] not in {"average", "worst", "improved"}:
            continue
        table = data["tables"][chart["table"]]
        low, high = min(values_of(table, "low")), max(values_of(table, "high"))
        scales = [one["scale"]["domain"] for at, one in axes_of(chart["spec"]) if at == "y"]
        assert scales
        for least, most in scales:
            assert least <= 0 if chart["name"] == "improved" else least < low
            assert high < most


def test_every_section_has_its_numbers_as_a_file(page):
    elements = Elements(page.html).found
    buttons = {a["data-table"] for t, a in elements if t == "button" and "data-table" in a}
    assert buttons == set(data_of(page.html)["tables"])


def test_the_same_folders_give_the_same_bytes(sweep, page):
    assert build_page([sweep]).html == page.html


def test_a_usual_page_is_small(page):
    assert len(page.html.encode()) < 3_000_000


def test_ids_are_unique_and_every_link_leads_somewhere(page):
    elements = Elements(page.html).found
    ids = [a["id"] for _, a in elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for _, a in elements if "href" in a} <= set(ids)
    for _, attributes in elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids


def test_what_is_not_there_is_said_and_not_drawn(stopped):
    page = build_page([stopped])
    assert "What is not shown, and why" in page.html
    assert "no run was attacked" in page.html
    assert "attack" not in data_of(page.html)["tables"]
    assert page.waiting == f"run: stopped after round 3 of 6 (fedmgda resume {stopped} goes on)."
    assert page.broken == ()


def test_a_run_that_looks_like_a_script_is_text(sweep, tmp_path):
    folder = copy_of(sweep / "mgda_seed=0", tmp_path / "a")
    hostile = folder.rename(tmp_path / "<script>alert(1)<")
    page = build_page([hostile])
    assert "<script>alert" not in page.html
    assert "&lt;script&gt;alert(1)&lt;" in page.html
    assert data_of(page.html)["runs"] == ["<script>alert(1)<"]
    scripts = [e for e in Elements(page.html).found if e[0] == "script"]
    assert len(scripts) == 3


def test_a_client_that_looks_like_a_script_is_text(tmp_path):
    table = tmp_path / "t.csv"
    lines = [f'"{(HOSTILE, "b", "c", "d")[i % 4]}",{(i * 37) % 101},{i % 2}' for i in range(160)]
    table.write_text("\n".join(["client,x,label", *lines]) + "\n")
    data = {"path": str(table), "client": "client", "target": "label"}
    finished_run(tmp_path / "run", data=data, model={"name": "logistic"}, clients={})
    page = build_page([tmp_path / "run"])
    assert HOSTILE not in page.html
    assert HOSTILE in values_of(data_of(page.html)["tables"]["users"], "user")


def test_a_json_script_has_no_letter_that_could_end_it(page):
    text = re.search(r'id="page-data">(.*?)</script>', page.html, re.DOTALL)[1]
    assert not set("<>&\u2028\u2029") & set(text)


@pytest.mark.parametrize("state", ["finished", "stopped"])
def test_a_folder_of_format_1_is_shown(state, tmp_path):
    page = build_page([copy_of(FORMAT_1 / state, tmp_path / state)])
    assert page.broken == ()
    assert {"users", "rounds"} <= set(data_of(page.html)["tables"])


def test_a_file_that_was_tampered_with_is_named_and_the_rest_is_shown(sweep, tmp_path):
    folder = copy_of(sweep / "fedavg_seed=0", tmp_path / "fedavg")
    content = (folder / "clients.csv").read_bytes()
    (folder / "clients.csv").write_bytes(content.replace(b"1", b"2", 1))
    page = build_page([sweep / "mgda_seed=0", folder])
    assert any("clients.csv" in sentence for sentence in page.broken)
    assert f"fedmgda verify {folder}" in page.html
    assert "mgda" in values_of(data_of(page.html)["tables"]["users"], "run")


@pytest.mark.parametrize("name", ["DONE", "timings.jsonl"])
def test_a_folder_without_one_of_its_files_still_gives_a_page(name, sweep, tmp_path):
    folder = copy_of(sweep / "fedavg_seed=0", tmp_path / "fedavg")
    (folder / name).unlink()
    assert "<main" in build_page([folder]).html


def test_rounds_that_cannot_be_read_are_no_all_clear(sweep, tmp_path):
    rounds = copy_of(sweep / "fedavg_seed=0", tmp_path / "fedavg") / "rounds.jsonl"
    rounds.write_bytes(rounds.read_bytes().replace(b"1", b"2", 1))
    text = build_page([tmp_path / "fedavg"]).html
    assert "Not known: no round could be read." in text
    assert "No round was held, stalled or failed." not in text
    assert "every reply counted" not in text


def test_half_a_line_at_the_end_is_a_run_that_was_killed(stopped, tmp_path):
    folder = copy_of(stopped, tmp_path / "killed")
    with (folder / "rounds.jsonl").open("ab") as file:
        file.write(b'{"round": 4, "cli')
    page = build_page([folder])
    assert "round 3 of 6" in page.waiting


def test_an_empty_folder_is_refused_alone_and_told_beside_others(sweep, tmp_path):
    with pytest.raises(DataError, match="holds no run"):
        build_page([tmp_path])
    page = build_page([sweep / "mgda_seed=0", tmp_path])
    assert any("holds no run" in sentence for sentence in page.broken)


def test_a_folder_with_a_run_that_cannot_be_opened_shows_the_others(sweep, tmp_path):
    shutil.copytree(sweep / "mgda_seed=0", tmp_path / "good")
    shutil.copytree(sweep / "mgda_seed=0", tmp_path / "bad")
    (tmp_path / "bad" / "environment.json").write_text("{")
    page = build_page([tmp_path])
    assert any("environment.json" in sentence for sentence in page.broken)
    assert data_of(page.html)["runs"] == ["good"]


def test_a_page_is_known_by_its_beginning(page, tmp_path):
    (tmp_path / "a.html").write_text(page.html)
    (tmp_path / "b.html").write_text("<!doctype html><title>mine</title>")
    assert is_page(tmp_path / "a.html")
    assert not is_page(tmp_path / "b.html")
    assert not is_page(tmp_path / "c.html")


def test_the_numbers_are_those_of_the_run(sweep, page):
    tables = data_of(page.html)["tables"]
    run = open_run(sweep / "fedavg_seed=0")
    overview = tables["overview"]
    place = values_of(overview, "run").index("fedavg")
    average = values_of(overview, "average accuracy")[place]
    assert average == pytest.approx(run.summary.honest.accuracy["average"], rel=1e-4)
    assert values_of(overview, "rounds against somebody")[place] == (
        run.summary.rounds_that_sacrificed
    )
    users = {
        user: value
        for name, user, value in zip(
            *(values_of(tables["users"], column) for column in ("run", "user", "value")),
            strict=True,
        )
        if name == "fedavg"
    }
    assert users == {
        f"client {client.client_id} (seed 0)": pytest.approx(client.test_accuracy, rel=1e-4)
        for client in run.clients
    }


def test_runs_without_test_rows_are_compared_by_their_scores_and_chance_is_not_known(tmp_path):
    kept = {"predictions": False}
    finished_run(tmp_path / "mgda", records=kept)
    finished_run(tmp_path / "fedavg", records=kept, rule={"name": "fedavg"})
    page = build_page([tmp_path])
    gains = data_of(page.html)["tables"]["gains"]
    assert len(values_of(gains, "gain")) == 4
    assert set(values_of(gains, "p worse")) == {None}
    assert "it may be chance" in page.html


def test_a_regression_is_shown_by_its_error_and_a_single_run_against_a_constant(tmp_path):
    table = tmp_path / "t.csv"
    lines = [f"{'abcd'[i % 4]},{(i * 37) % 101},{(i * 37) % 101 * 0.5 + i % 3}" for i in range(240)]
    table.write_text("\n".join(["client,x,price", *lines]) + "\n")
    data = {"path": str(table), "client": "client", "target": "price", "task": "regression"}
    finished_run(tmp_path / "run", data=data, model={"name": "linear"}, clients={})
    page = build_page([tmp_path / "run"])
    tables = data_of(page.html)["tables"]
    assert tables["users"]["title"] == "Every user's RMSE"
    assert tables["users"]["percent"] == []
    assert set(values_of(tables["gains"], "pair")) == {"run against a constant"}
    assert sorted(values_of(tables["users"], "user")) == ["a", "b", "c", "d"]


def test_every_reply_that_did_not_count_is_counted_by_reason(tmp_path):
    attack = {"name": "scale-update", "factor": 1e300, "clients": [1]}
    finished_run(tmp_path / "run", attack=attack)
    tables = data_of(build_page([tmp_path / "run"]).html)["tables"]
    quarantined = [row.quarantined for row in open_run(tmp_path / "run").rounds]
    assert sum(values_of(tables["quarantine-reasons"], "replies")) == sum(map(len, quarantined)) > 0
    kinds = values_of(tables["quarantine-reasons"], "reason")
    assert len(kinds) == len(set(kinds)) <= 2
    assert not any(letter.isdigit() for kind in kinds for letter in kind)


def test_a_limit_under_which_its_engine_would_end_the_process_is_a_sentence(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 33, -1))
    with pytest.raises(MemoryError, match=r"68 GiB of addresses.* is 8; raise it"):
        vega_script.__wrapped__()
    monkeypatch.setattr("resource.getrlimit", lambda _: (-1, -1))
    assert "vega" in vega_script.__wrapped__()
