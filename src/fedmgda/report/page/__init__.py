"""The page of one or many runs: plain values, charts of them, one HTML file."""

from fedmgda.report.page._page import Page, build_page, is_page

__all__ = ["Page", "build_page", "is_page"]
