"""Drawings as SVG, readable on light and dark pages."""

from collections.abc import Sequence

STYLE = """
  svg { --ground: #ffffff; --ink: #1f2933; --soft: #667282; --line: #c3cad3; --pale: #eef1f4;
    --blue: #3f74c4; --orange: #dd8a2f; --green: #3c9a6b; --box: #f6f8fa; }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #20242c; --ink: #e5e9ef; --soft: #a2acb9; --line: #56606e; --pale: #2b313b;
      --blue: #6f9fe6; --orange: #f0a45b; --green: #62c294; --box: #272c35; } }
  text { font-family: system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; font-size: 14px;
    fill: var(--ink); }
  .soft { fill: var(--soft); font-size: 13px; }
  .strong { font-weight: 600; }
  .formula { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
  .on { fill: var(--ground); font-weight: 600; }
  .frame { fill: var(--box); stroke: var(--line); }
  .line { fill: none; stroke: var(--soft); stroke-width: 1.3; }
  .arrow { fill: none; stroke: var(--ink); stroke-width: 1.6; marker-end: url(#head); }
""".strip("\n")


class Picture:
    """SVG figure to which elements are added."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        self.title = title
        self.parts = [f'<rect width="{width}" height="{height}" rx="8" fill="var(--ground)"/>']

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Add a line of text. Its baseline is at y; `anchor` states which end of it is at x."""
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{text}</text>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, colour: str = "", round_: float = 2
    ) -> None:
        """Add a box, filled with a colour, or as a frame."""
        fill = f'fill="var(--{colour})"' if colour else 'class="frame"'
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_:g}" '
            f"{fill}/>"
        )

    def path(self, path: str, kind: str = "line") -> None:
        """Add an SVG path: a line, or an arrow if `kind` is "arrow"."""
        self.parts.append(f'<path d="{path}" class="{kind}"/>')

    def rotated_text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Add a line of text that rises at 60 degrees."""
        self.parts.append(
            f'<text transform="translate({x:g} {y:g}) rotate(-60)" class="{kind}">{text}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, name: str) -> None:
        """Add a frame with a name."""
        self.rect(x, y, width, height, round_=8)
        self.text(x + 14, y + 24, name, "strong")

    def lines(self, x: float, y: float, lines: Sequence[str]) -> None:
        """Add lines of text below each other; the baseline of the first one is at y."""
        for index, line in enumerate(lines):
            self.text(x, y + 18 * index, line, "soft")

    def svg(self) -> str:
        """Return the content of the file."""
        head = (
            '<marker id="head" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0.8 10 5 0 9.2z" fill="var(--ink)"/>'
            "</marker>"
        )
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {self.size} role="img">\n'
            f"<title>{self.title}</title>\n<style>\n{STYLE}\n</style>\n<defs>{head}</defs>\n"
            f"{body}\n</svg>\n"
        )
