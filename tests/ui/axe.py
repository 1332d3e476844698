"""What axe finds wrong with a page for those who cannot see it, or use no mouse."""

from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def findings(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """A line for each element that breaks one of the rules of WCAG 2.2 AA, or of good practice, or only of
    `rules`. Animations are ended before: what fades in has too little contrast for a moment."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(
        """async (only) => {
            for (const each of document.getAnimations()) {
                if (each.effect?.getComputedTiming().endTime !== Infinity) each.finish();
            }
            const { violations } = await axe.run(document, { runOnly: only, resultTypes: ["violations"] });
            return violations.flatMap(({ id, nodes }) =>
                nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`));
        }""",
        {"type": "rule", "values": list(rules)} if rules else {"type": "tag", "values": RULES},
    )
