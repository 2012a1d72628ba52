"""The same rules and the same specs on Flower: its engine carries, everything else is ours."""

__all__: list[str] = []
