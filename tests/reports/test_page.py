"""The self-contained page."""

from pathlib import Path

from unknot.reports.page import Grid, Picture, Section, write_page


def test_a_page_holds_text_tables_and_pictures_without_any_outside_address(tmp_path: Path) -> None:
    sections = [
        Section("First part", ["Some words."], [Grid(("name", "value"), [["a", 1234567], ["b", 0.5]], "Numbers")]),
        Section("Second", contents=[Picture(b"\x89PNG...", "A picture.")]),
    ]
    html = write_page(tmp_path / "page.html", "Title", "Lead.", sections).read_text()
    assert "Some words." in html
    assert '<td class="number">1,234,567</td>' in html
    assert "data:image/png;base64,iVBORy4uLg==" in html
    assert 'href="#first-part"' in html
    assert "http://" not in html
    assert "https://" not in html


def test_names_from_data_are_escaped(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script>"
    sections = [Section(nasty, [nasty], [Grid((nasty,), [[nasty]], nasty), Picture(b"", nasty)])]
    html = write_page(tmp_path / "page.html", nasty, nasty, sections).read_text()
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") >= 7
