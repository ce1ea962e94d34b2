"""Page of TensorBoard's projector, read and operated as by a user."""

import io

import numpy as np

from tests.browser.chromium import find, one, texts, until

POINTS, MATCHES, CARD = ".numDataPoints", ".matches-list .row .label", "#metadata-label"
COLOURS = "paper-dropdown-menu[label='Color by']"


class ProjectorPage:
    """Projector page of a running TensorBoard, opened and waited for until points are drawn."""

    def __init__(self, driver, url):
        self.driver = driver
        driver.get(f"{url}#projector")
        # TensorBoard shows plugins in a frame; the projector is another frame inside it
        for name in ("the plugin", "the projector"):
            (frame,) = until(f"the frame of {name}", lambda: find(driver, "iframe"))
            driver.switch_to.frame(frame)
        self._until_drawn()

    def _until_drawn(self):
        until("points", lambda: "".join(texts(self.driver, POINTS)).isdecimal() and self.points())
        until("the components", lambda: "%" in "".join(texts(self.driver, "#total-variance")))
        until("points to be drawn", lambda: self.share_drawn() > 0.01)

    def points(self):
        """Return the number of points that the page states."""
        return int("".join(texts(self.driver, POINTS)))

    def share_drawn(self):
        """Return the fraction of pixels that belong to points: neither white nor grey."""
        return float((np.ptp(self._picture(), axis=-1) > 60 / 255).mean())

    def hues(self):
        """Return the number of hues of the points, of twelve around the colour circle."""
        import matplotlib.colors  # takes longer to import than all tests of pages without Chromium

        colours = matplotlib.colors.rgb_to_hsv(self._picture())
        hue, saturation = colours[..., 0], colours[..., 1]
        counts = np.bincount((hue[saturation > 0.3] * 11.99).astype(int), minlength=12)
        return int((counts > 0.01 * counts.sum()).sum())

    def _picture(self):
        import matplotlib.image

        picture = one(self.driver, "#scatter").screenshot_as_png
        return matplotlib.image.imread(io.BytesIO(picture))[..., :3]

    def until_laid_out(self):
        """Wait until the page shows the projection saved in the bookmark."""
        until("the layout", lambda: texts(self.driver, ".ink-tab.active") == ["CUSTOM"])
        until("points to be drawn", lambda: self.share_drawn() > 0.01)

    def spherize(self, wanted):
        """Tick or untick "Spherize data", which moves the mean of the vectors to the origin."""
        box = one(self.driver, "#normalize-data-checkbox")
        if self.is_spherized() != wanted:
            self.driver.execute_script("arguments[0].click()", box)  # it may be off screen
        until("the checkbox", lambda: self.is_spherized() == wanted)
        self._until_drawn()

    def is_spherized(self):
        box = one(self.driver, "#normalize-data-checkbox")
        return box.get_attribute("aria-checked") == "true"

    def search(self, text):
        """Type into the search box; return the words found."""
        field = one(self.driver, "#search-box", "input")
        field.clear()
        field.send_keys(text)

        def found():
            matches = texts(self.driver, MATCHES)
            # wait out matches of a shorter text; a single match is selected, not listed
            return all(text in word for word in matches) and (matches or texts(self.driver, CARD))

        return until(f"words that hold {text!r}", found)

    def select(self, word):
        """Search a word, and click on it in the list."""
        found = self.search(word)
        if rows := find(self.driver, MATCHES):
            rows[found.index(word)].click()
        until(f"the card of {word!r}", lambda: texts(self.driver, CARD) == [word])
        self._close_explanation()

    def _close_explanation(self):
        """Move the pointer away, to close the tooltip that the click opened."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).move_to_element(one(self.driver, "#search-box")).perform()
        shown = ".nn paper-tooltip", "#tooltip:not(.hidden)"
        until("the explanation to go", lambda: not find(self.driver, *shown))

    def colours(self):
        """Return the columns that the page can colour by: ``{column: kind of colouring}``."""
        self._open_colours()
        items = [text.split("\n") for text in texts(self.driver, COLOURS, "paper-item")]
        return {
            name: " ".join(how.split()) for name, how in (item for item in items if len(item) > 1)
        }

    def colour_by(self, column):
        self._open_colours()
        for item in find(self.driver, COLOURS, "paper-item"):
            if item.text.startswith(f"{column}\n"):
                item.click()
        until("the menu to close", lambda: not find(self.driver, f"{COLOURS}[opened]"))
        until("the colours", lambda: self.share_drawn() > 0.01)

    def _open_colours(self):
        menu = one(self.driver, COLOURS)
        if not menu.get_property("opened"):
            menu.click()
        until("the columns", lambda: find(self.driver, COLOURS, "paper-item"))

    def card(self):
        """Return the metadata card of the selected word: ``{column: value}``."""
        names, values = (texts(self.driver, f".metadata-{what}") for what in ("key", "value"))
        return dict(zip(names, values, strict=True))

    def neighbours(self):
        """Return (word, cosine distance) of the selected word's neighbours, nearest first."""
        until("neighbours", lambda: texts(self.driver, ".nn-list .label"))
        words, values = (texts(self.driver, f".nn-list .{what}") for what in ("label", "value"))
        return [(word, float(value)) for word, value in zip(words, values, strict=True)]
