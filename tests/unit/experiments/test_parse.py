"""Reading a spec takes no more work than its values."""

from dataclasses import dataclass

from fedmgda.experiments import _parse


@dataclass(frozen=True)
class Section:
    """A section that nothing has read before."""

    size: int = 1


def test_the_types_of_a_section_are_read_once_however_many_specs_there_are(monkeypatch):
    """The list of studies parses more than a thousand, and took two seconds for their types."""
    read, original = [], _parse.get_type_hints

    def counted(kind):
        read.append(kind)
        return original(kind)

    monkeypatch.setattr(_parse, "get_type_hints", counted)
    assert [_parse.parse(Section, {"size": size}).size for size in range(1, 6)] == [1, 2, 3, 4, 5]
    assert read == [Section]
