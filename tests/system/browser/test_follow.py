"""A page that follows a run shows the new round by itself, and leaves the reader where he was."""

from contextlib import closing

from fedmgda._files import write_file
from fedmgda.experiments import RunFolder, execute
from fedmgda.report.page import build_page
from runs import small_spec


def test_the_open_page_shows_the_new_round(tmp_path, opened):
    folder = RunFolder.create(tmp_path / "run", small_spec(evaluation={"every": 1}))
    path = tmp_path / "page.html"

    def write():
        write_file(path, build_page([folder.path], refresh=1).html.encode())

    with closing(execute(folder)) as steps:
        while next(steps).round_num < 2:
            pass
        write()
        page = opened(path)
        page.get_by_text("round 2 of 6").first.wait_for()
        search = page.get_by_label("User", exact=True)
        search.fill("client 2")
        search.press("Enter")
        page.locator("#users summary").first.click()
        while next(steps).round_num < 4:
            pass
        write()
        page.get_by_text("round 4 of 6").first.wait_for()
        page.locator("body[data-ready]").wait_for()
        assert search.input_value() == "client 2"
        assert page.locator("#users details").first.get_attribute("open") is not None
        for _ in steps:
            pass
    write()
    page.get_by_text("round 4 of 6").first.wait_for(state="detached")
    assert page.locator(".waiting").count() == 0
