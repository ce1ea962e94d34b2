import pytest

from docs import screenshots
from tests.browser.chromium import why_no_chromium

NAMES = ["colours.png", "graphs.png", "projector.png", "scalars.png"]


def test_screenshots_exist_and_are_small():
    assert sorted(path.name for path in screenshots.FOLDER.iterdir()) == NAMES
    assert all(path.stat().st_size < 400_000 for path in screenshots.FOLDER.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(bool(why_no_chromium()), reason=why_no_chromium())
def test_screenshots_can_be_retaken(tmp_path):
    screenshots.main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES
