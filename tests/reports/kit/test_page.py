"""The self-contained page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from unknot.reports.kit.page import Command, Drawing, Gallery, Grid, Link, Listing, Picture, Section, write_page

PNG = b"\x89PNG..."
NASTY = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}"
VOID = {"meta", "img", "input", "br", "hr", "link"}


class Outline(HTMLParser):
    """Checks that tags close in order, and gathers ids, links, tags, attributes and addresses."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.addresses: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.handlers += [name] if name.startswith("on") else []
            self.ids += [value or ""] if name == "id" else []
            if name in ("href", "src"):
                (self.links if (value or "").startswith("#") else self.addresses).append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag


def _page(folder: Path, *sections: Section) -> str:
    return write_page(folder / "page.html", "Title", "Lead.", sections).read_text(encoding="utf-8")


def test_a_page_holds_text_tables_and_pictures_without_any_outside_address(tmp_path: Path) -> None:
    grid = Grid(("name", "value"), [["a", 1234567], ["b", 0.51234], ["c", None]], "Numbers")
    html = _page(
        tmp_path,
        Section("First part", ["Some words."], [grid, Command(("unknot", "score", "my file.npz"))]),
        Section("Second", contents=[Picture(PNG, "A picture."), Picture(b"GIF89a", "A film."), Listing("a\n b")]),
    )
    assert "Some words." in html
    assert '<td class="number" data-value="1234567">1,234,567</td>' in html
    assert '<td class="number" data-value="0.51234">0.512</td>' in html
    assert '<td data-value="">–</td>' in html
    assert "data:image/png;base64,iVBORy4uLg==" in html
    assert "data:image/gif;base64," in html
    assert "unknot score &#39;my file.npz&#39;" in html
    assert "<pre>a\n b</pre>" in html
    outline = Outline(html)
    assert "#first-part" in outline.links
    assert all(address.startswith("data:image/") for address in outline.addresses)
    assert "http://" not in html
    assert "https://" not in html


def test_names_from_data_are_escaped_wherever_they_stand(tmp_path: Path) -> None:
    grid = Grid((NASTY, "b"), [[NASTY, Link(NASTY, NASTY)], [Command((NASTY,)), 1]], NASTY, NASTY)
    part = Section(NASTY, [NASTY], [Command((NASTY,), NASTY), Listing(NASTY)], name=NASTY)
    html = _page(
        tmp_path, Section(NASTY, [NASTY], [grid, Picture(b"", NASTY), Drawing("<svg></svg>", NASTY)], [part])
    )
    outline = Outline(html)
    assert outline.tags.count("script") == 1
    assert outline.tags.count("img") == 1
    assert outline.handlers == []
    assert "49" not in re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>", "", html)
    assert html.count("&lt;script&gt;") >= 12


def test_only_the_page_s_own_script_may_run_and_nothing_may_be_fetched(tmp_path: Path) -> None:
    import base64
    import hashlib

    html = _page(tmp_path, Section("A"))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    script = re.search(r"(?s)<script>(.*?)</script>", html)
    assert policy is not None
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "innerHTML" not in script[1]


def test_links_lead_to_the_anchors_of_sections_and_of_their_parts(tmp_path: Path) -> None:
    part = Section("Run 1", name="run-a/b")
    grid = Grid(("run",), [[Link("a/b", part.anchor)]])
    outline = Outline(_page(tmp_path, Section("Runs", contents=[grid], parts=[part])))
    assert set(outline.links) <= {f"#{name}" for name in outline.ids}
    assert part.anchor == "run-a-b"


def test_heads_stand_upright_over_numbers_of_wide_tables_only() -> None:
    narrow = Grid(("a", "b"), [["x", 1.0]])
    wide = Grid(tuple("abcdefgh"), [["x", None, *range(6)], ["y", 2.0, *range(6)]])
    assert narrow.upright == [False, False]
    assert wide.upright == [False, *[True] * 7]
    assert Grid(tuple("abcdefgh"), []).upright == [False] * 8


def test_a_gallery_shows_all_its_drawings(tmp_path: Path) -> None:
    html = _page(tmp_path, Section("A", contents=[Gallery([Drawing("<svg></svg>", str(i)) for i in range(3)])]))
    assert html.count("<svg>") == 3


@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
def test_text_with_any_line_ends_leaves_a_page_well_formed(tmp_path: Path, line_end: str) -> None:
    assert Outline(_page(tmp_path, Section("A", [f"one{line_end}two"])))


def test_cells_of_every_kind_are_minor_where_their_column_is(tmp_path: Path) -> None:
    cells = [1.5, None, Link("to", "place"), Command("unknot metrics"), "word"]
    table = Grid([f"column {i}" for i in range(6)], [["kept", *cells]], minor=range(1, 6))
    page = write_page(tmp_path / "page.html", "title", "", [Section("table", contents=[table])]).read_text()
    classes = re.findall(r"<td(?: class=\"([^\"]*)\")?", page)
    assert ["minor" in words.split() for words in classes] == [False, *[True] * 5]
