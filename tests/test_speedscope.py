# SPDX-License-Identifier: MIT
"""speedscope itself, in a browser, reads what --format speedscope prints."""
import functools
import http.server
import io
import re
import tarfile
import threading

import pytest

from test_exports import SPEEDSCOPE, example, export, fetched

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with speedscope, and where it is served: on loopback only."""
    folder = tmp_path_factory.mktemp("speedscope")
    with tarfile.open(fileobj=io.BytesIO(fetched(SPEEDSCOPE))) as package:
        for member in package.getmembers():
            name = member.name.removeprefix("package/dist/release/")
            if member.isfile() and name != member.name and "/" not in name:
                (folder / name).write_bytes(package.extractfile(member).read())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def driver():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver")) as it:
        yield it


@pytest.mark.parametrize("name", ["service_later", "medley", "hostile"])
def test_it_is_read(site, driver, tmp_path, name):
    folder, address = site
    path = example("speedscope", tmp_path) if name == "hostile" else export(name, "speedscope", tmp_path)
    (folder / "run.json").write_bytes(path.read_bytes())
    driver.get("about:blank")
    driver.get(f"{address}/index.html#profileURL={address}/run.json&title={name}")
    WebDriverWait(driver, 30).until(lambda it: it.find_elements("css selector", "canvas"))
    text = driver.execute_script("return document.body.innerText")
    assert "Something went wrong" not in text
    assert re.search(rf"{name} \(1/[45]\)", text), text  # the first of its profiles
