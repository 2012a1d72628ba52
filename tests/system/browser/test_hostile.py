"""Names that look like scripts are words on the page, and nothing more."""

from fedmgda.report.page import build_page
from runs import finished_run

HOSTILE = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
LONG = "a" * 150


def test_a_client_and_a_run_called_like_a_script_are_text_everywhere(tmp_path, opened):
    clients = (HOSTILE, IMAGE, "{{7*7}}", "d")
    rows = [f'"{clients[i % 4]}",{(i * 37) % 101},{i % 2}' for i in range(160)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["client,x,label", *rows]) + "\n")
    data = {"path": str(table), "client": "client", "target": "label"}
    common = {"data": data, "model": {"name": "logistic"}, "clients": {}}
    # Runs of one name are called by their folders: so a run may have a slash in its name.
    runs = [tmp_path / "runs" / HOSTILE, tmp_path / "runs" / "b/script>", tmp_path / "runs" / LONG]
    for run, rule in zip(runs, ("fedmgda+", "fedavg", "fedavg-n"), strict=True):
        finished_run(run, rule={"name": rule}, **common)
    path = tmp_path / "page.html"
    path.write_text(build_page(runs).html, encoding="utf-8")

    page = opened(path, width=360)  # a dialog, a picture that is asked for, or an error fails here
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    search = page.get_by_label("User", exact=True)
    for client in clients:
        search.fill(client)
        search.press("Enter")
        page.locator("#story-facts").get_by_text(f"{client} at the end of every run").wait_for()
        assert page.locator("#users .rows").get_by_text(client, exact=True).first.is_visible()
    for part in (".verdicts", "#run-choice", ".facts", "#about"):
        assert page.locator(part).get_by_text(HOSTILE).first.is_visible(), part
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, "long names are broken"
    assert page.locator("#chart-dumbbells text").get_by_text("<script>").first.is_visible()
    page.locator("#chart-strip .mark-symbol.role-mark path").first.hover(force=True)
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert page.locator("#vg-tooltip-element :is(script, img)").count() == 0
    assert page.locator("main :is(script, img)").count() == 0
    assert page.locator("script").count() == 3, "the data, the library, ours"
