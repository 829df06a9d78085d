"""The page of `tapec report` in a browser: mouse, keyboard, both colour schemes."""

from __future__ import annotations

import shutil

import pytest

from tapec.explanation.page import page
from tests.explanation.programs import heat
from tests.explanation.test_explain import line_of, told

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.common.exceptions import WebDriverException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

_BROWSER = shutil.which("chromium")
_DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (_BROWSER and _DRIVER), reason="there is no Chromium with its driver"),
]
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = _BROWSER
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(_DRIVER))
    except WebDriverException as error:
        pytest.skip(f"Chromium does not start here: {error.msg}")
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(heat, told(heat)), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser, file):
    browser.get(file.as_uri())
    return browser


def source_line(browser, number: int):
    (found,) = browser.find_elements(By.CSS_SELECTOR, f'[data-side="source"] .line[data-number="{number}"]')
    return found


def marked(browser, state: str) -> list[str]:
    return [line.text for line in browser.find_elements(By.CSS_SELECTOR, f".line.{state} code")]


def told_text(browser) -> str:
    return browser.find_element(By.ID, "told").text


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_nothing_goes_wrong_while_it_loads(opened):
    assert opened.get_log("browser") == []
    assert "No line is chosen" in told_text(opened)


def test_pointing_at_a_line_marks_its_lines_of_the_gradient(opened):
    line = source_line(opened, line_of(heat, "left = u[0]"))
    webdriver.ActionChains(opened).move_to_element(line).perform()
    assert any("left" in text for text in marked(opened, "linked"))
    assert marked(opened, "chosen") == ["        left = u[0]"]
    webdriver.ActionChains(opened).move_to_element(opened.find_element(By.TAG_NAME, "h1")).perform()
    assert marked(opened, "linked") == []


def test_a_chosen_line_stays_and_tells_its_notes(opened):
    line = source_line(opened, line_of(heat, "u[i] = here"))
    line.click()
    webdriver.ActionChains(opened).move_to_element(opened.find_element(By.TAG_NAME, "h1")).perform()
    linked = marked(opened, "linked")
    assert any("_store[" in text for text in linked)
    assert any("_bar" in text for text in linked)
    assert "8 * steps * (u0.shape[0] - 2) bytes" in told_text(opened)
    assert line.get_attribute("aria-selected") == "true"
    line.click()
    assert marked(opened, "linked") == []


def test_a_generated_line_marks_the_line_it_comes_from(opened):
    (line,) = [
        one
        for one in opened.find_elements(By.CSS_SELECTOR, '[data-side="gradient"] .line')
        if "left_bar = " in one.text and "kappa" in one.text
    ]
    line.click()
    assert any("u[i] = here + kappa" in text for text in marked(opened, "linked"))
    assert f"from line {line_of(heat, 'u[i] = here')} of the source" in told_text(opened)


def test_the_lines_of_both_sweeps_are_listed_and_stepped_through(opened):
    body = opened.find_element(By.TAG_NAME, "body")
    body.send_keys("n")
    assert marked(opened, "here") == []
    source_line(opened, line_of(heat, "u[i] = here")).click()
    steps = opened.find_elements(By.CSS_SELECTOR, "#told .steps button")
    assert [button.text for button in steps] == [text.strip() for text in marked(opened, "linked")]
    titles = [title.text for title in opened.find_elements(By.CSS_SELECTOR, "#told .steps dt")]
    assert titles == ["forward sweep", "reverse sweep"]
    body.send_keys("n", "n")
    assert marked(opened, "here") == marked(opened, "linked")[1:2]
    body.send_keys("p", "p")
    assert marked(opened, "here") == marked(opened, "linked")[-1:]
    steps[0].click()
    assert marked(opened, "here") == marked(opened, "linked")[:1]
    body.send_keys(Keys.CONTROL + "n" + Keys.NULL)
    source_line(opened, line_of(heat, "u[i] = here")).click()
    assert marked(opened, "here") == []


def test_notes_never_cover_code(opened):
    def bottom(selector: str) -> float:
        return max(one.rect["y"] + one.rect["height"] for one in opened.find_elements(By.CSS_SELECTOR, selector))

    notes = opened.find_element(By.ID, "told")
    before = notes.rect
    source_line(opened, line_of(heat, "u[i] = here")).click()
    assert notes.rect == before
    assert bottom(".lines") <= before["y"]


def test_the_keyboard_reaches_everything(opened):
    body = opened.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    source = opened.switch_to.active_element
    assert source.get_attribute("role") == "listbox"
    source.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    (at,) = opened.find_elements(By.CSS_SELECTOR, ".line.at")
    assert source.get_attribute("aria-activedescendant") == at.get_attribute("id")
    assert "u = u0.copy()" in at.text
    assert marked(opened, "linked")
    source.send_keys(Keys.END)
    assert marked(opened, "chosen") == ["    return total"]
    source.send_keys(Keys.ESCAPE)
    assert marked(opened, "chosen") == []
    source.send_keys(Keys.TAB)
    gradient = opened.switch_to.active_element
    assert gradient.get_attribute("data-side") == "gradient"
    gradient.send_keys(Keys.HOME)
    assert marked(opened, "chosen")[0].startswith("def heat_value_and_grad")


def test_marks_do_not_rest_on_colour_alone(opened):
    active = source_line(opened, line_of(heat, "here ="))
    constant = source_line(opened, line_of(heat, "for t"))
    assert "●" in active.text
    assert "○" in constant.text
    spoken = active.find_element(By.CLASS_NAME, "spoken").get_attribute("textContent")
    assert spoken == "carries a derivative"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible_in_both_colour_schemes(browser, file, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(file.as_uri())
    source_line(browser, line_of(heat, "u[i] = here")).click()

    def colour(selector: str, name: str) -> str:
        return browser.find_element(By.CSS_SELECTOR, selector).value_of_css_property(name)

    paper, panel = colour("body", "background-color"), colour(".lines", "background-color")
    assert (contrast(paper, "rgb(0, 0, 0)") > 4.5) is (scheme == "light")
    assert contrast(colour("body", "color"), paper) > 7
    assert contrast(colour(".number", "color"), panel) > 4.5
    for line in (".line.linked", ".line.chosen"):
        assert contrast(colour(line, "color"), colour(line, "background-color")) > 7
    for kind in ("sk", "sb", "sf", "sn", "sc"):
        assert contrast(colour(f".lines .{kind}", "color"), panel) > 4.5
    for kind in ("kept", "again", "good", "bad"):
        assert contrast(colour(f".badge.{kind}", "color"), panel) > 4.5


def test_a_narrow_window_has_one_column(browser, file):
    browser.set_window_size(700, 900)
    browser.get(file.as_uri())
    first, second = browser.find_elements(By.CLASS_NAME, "side")
    assert first.location["x"] == second.location["x"]
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.set_window_size(1400, 1000)
