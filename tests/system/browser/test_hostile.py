"""Names that look like scripts are words on the page, and nothing more."""

from fedmgda.report.page import build_page
from runs import finished_run

HOSTILE = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
RUN = "<script>alert(3)<"  # a folder's name has no slash


def test_a_client_and_a_run_called_like_a_script_are_text_everywhere(tmp_path, opened):
    clients = (HOSTILE, IMAGE, "{{7*7}}", "d")
    rows = [f'"{clients[i % 4]}",{(i * 37) % 101},{i % 2}' for i in range(160)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["client,x,label", *rows]) + "\n")
    data = {"path": str(table), "client": "client", "target": "label"}
    common = {"data": data, "model": {"name": "logistic"}, "clients": {}}
    finished_run(tmp_path / "runs" / RUN, **common)
    finished_run(tmp_path / "runs" / "averaged", rule={"name": "fedavg"}, **common)
    path = tmp_path / "page.html"
    path.write_text(build_page([tmp_path / "runs"]).html, encoding="utf-8")

    page = opened(path)  # a dialog, an image that is asked for, or an error would fail here
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    search = page.get_by_label("User", exact=True)
    for client in clients:
        search.fill(client)
        search.press("Enter")
        page.locator("#story-facts").get_by_text(f"{client} at the end of every run").wait_for()
        assert page.locator("#users .rows").get_by_text(client, exact=True).first.is_visible()
    assert page.locator("h1, .verdicts, #run-choice").get_by_text(RUN).first.is_visible()
    assert page.locator("#chart-dumbbells text").get_by_text(HOSTILE).first.is_visible()
    page.locator("#chart-strip .mark-symbol.role-mark path").first.hover(force=True)
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert page.locator("#vg-tooltip-element :is(script, img)").count() == 0
    assert page.locator("main :is(script, img)").count() == 0
    assert page.locator("script").count() == 3, "the data, the library, ours"
