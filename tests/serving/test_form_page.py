"""The test page in a browser: a form from the columns, the answer, a refusal, a token."""

import pytest
from tests.browser import Browser
from tests.serving.live_model_server import LiveModelServer

TOKEN = "0123456789abcdef"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


def test_the_form_asks_the_model_and_shows_why(browser, iris, jobs):
    with LiveModelServer(("iris", "1", iris[1]), ("jobs", "7", jobs[1])) as live:
        page = browser.open(f"http://{live.address}/")
        page.tab.get_by_label("petal length").fill("5.5")
        page.tab.get_by_role("button", name="Predict").click()
        page.tab.get_by_text("Prediction:").wait_for()
        assert page.tab.locator("table").count() == 2  # probabilities, and terms
        page.tab.get_by_label("Model").select_option(label="jobs, version 7")
        page.tab.get_by_label("job").fill("cook")
        page.tab.get_by_role("button", name="Predict").click()
        page.tab.get_by_text("Prediction:").wait_for()
        page.tab.get_by_role("link", name="Interface").click()
        page.tab.get_by_text("POST /predict").wait_for()
        assert page.complaints == []


def test_a_token_opens_the_page(browser, iris):
    with LiveModelServer(("iris", "1", iris[1]), tokens=(TOKEN,)) as live:
        page = browser.open(f"http://{live.address}/")
        page.tab.get_by_label("Token").fill(TOKEN)
        page.tab.get_by_role("button", name="Open").click()
        page.tab.get_by_label("petal width").fill("")
        page.tab.get_by_role("button", name="Predict").click()
        page.tab.get_by_text("found null, expected a number").wait_for()
