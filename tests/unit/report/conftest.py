import pytest


@pytest.fixture
def figure_of(monkeypatch, tmp_path):
    """Turn a function that draws into files into one that returns the figure."""

    def wrap(module, draw):
        figures = []

        def keep(figure, path):
            figure.draw_without_rendering()
            figures.append(figure)
            return path, path

        monkeypatch.setattr(module, "save_figure", keep)

        def drawn(*parts, **options):
            draw(parts, tmp_path / "figure", **options)
            return figures[-1]

        return drawn

    return wrap
