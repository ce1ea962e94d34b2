"""Headless Chromium, and a search for elements inside shadow roots."""

import contextlib
import shutil
import tempfile
import time

SECONDS = 180.0
SIZE = (1400, 900)

OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # needed as root; only pages of this machine are opened
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--use-gl=angle",  # WebGL on the CPU
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Web components keep their elements in shadow roots, which document.querySelectorAll skips.
FIND = """
const inside = (root, selector) => [
  ...root.querySelectorAll(selector),
  ...[root, ...root.querySelectorAll('*')].flatMap(
    element => element.shadowRoot ? inside(element.shadowRoot, selector) : []),
];
return [...arguments].reduce(
  (roots, selector) => roots.flatMap(root => inside(root, selector)), [document]);
"""


def why_no_chromium():
    """Return why no browser can be started here, or an empty string."""
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return ""


@contextlib.contextmanager
def chromium(scale=1):
    """Yield a selenium driver of a browser with an empty profile, at `scale` pixels per unit."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        try:
            driver.set_page_load_timeout(SECONDS)
            driver.set_script_timeout(SECONDS)
            size = {"width": SIZE[0], "height": SIZE[1]}
            view = size | {"deviceScaleFactor": scale, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", view)
            yield driver
        finally:
            driver.quit()


def find(driver, *selectors):
    """Return the elements that match the last selector, inside matches of the one before, etc."""
    return driver.execute_script(FIND, *selectors)


def until(what, look, seconds=SECONDS):
    """Return the first true result of `look`; `what` describes it in errors."""
    from selenium.common import StaleElementReferenceException

    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(StaleElementReferenceException):
            if found := look():
                return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.1)


def texts(driver, *selectors):
    """Return the texts of all matching elements, including those scrolled out of sight."""
    # one call: the browser answers slowly while it draws
    script = f"return (function() {{{FIND}}})(...arguments).map(each => each.innerText.trim());"
    return driver.execute_script(script, *selectors)


def one(driver, *selectors):
    """Wait for the only matching element that is shown, and return it."""

    def shown():
        return [element for element in find(driver, *selectors) if element.is_displayed()]

    element, *others = until(f"{' '.join(selectors)} to be shown", shown)
    assert not others, f"{1 + len(others)} elements match {' '.join(selectors)}"
    return element


def still(driver):
    """Return whether the page looks the same for half a second."""
    before = driver.get_screenshot_as_png()
    time.sleep(0.5)
    return driver.get_screenshot_as_png() == before
