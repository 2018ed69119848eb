"""Downloads, against a real HTTP server on this machine."""

import hashlib
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pairmend.datasets import download
from pairmend.datasets.catalogue import CatalogueFile, find_entry
from pairmend.datasets.download import (
    DownloadError,
    cache_folder,
    cached_file,
    fetch,
    fetch_file,
    file_url,
)

CONTENT = bytes(range(256)) * 1200  # several chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = CatalogueFile("toy.arff", SHA256, len(CONTENT), "data/toy set/toy.arff")
ENTRY = replace(
    find_entry("emotions"),
    name="toy",
    folder="toy",
    repository="https://github.com/someone/sets",
    commit="c0ffee",
    files=(FILE,),
)
URL_PATH = "/someone/sets/c0ffee/data/toy%20set/toy.arff"


@dataclass
class Behaviour:
    """How the server responds, and the requests that it received."""

    content: bytes = CONTENT
    cut_after: int | None = None
    hang_after: int | None = None
    delay: float = 0.0
    requests: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        behaviour = self.server.behaviour
        behaviour.requests.append(self.path)
        if self.path != URL_PATH:
            self.send_error(404)
            return
        body = behaviour.content
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if behaviour.hang_after is not None:
            self.wfile.write(body[: behaviour.hang_after])
            behaviour.released.wait(10)
            return
        body = body[: behaviour.cut_after]
        for start in range(0, len(body), 50_000):
            self.wfile.write(body[start : start + 50_000])
            time.sleep(behaviour.delay)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Print nothing about clients that disconnect."""


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("pooch", reason="downloads need pooch: pip install 'pairmend[data]'")
    with Server(("127.0.0.1", 0), Handler) as httpd:
        httpd.behaviour = Behaviour()
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("PAIRMEND_MIRROR", f"http://127.0.0.1:{httpd.server_port}/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield httpd.behaviour
        httpd.behaviour.released.set()
        httpd.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("PAIRMEND_CACHE", str(folder))
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_files_are_downloaded_once(server, cache, capfd):
    path = fetch_file(ENTRY, FILE)
    assert path == cache / "toy/toy.arff"
    assert path.read_bytes() == CONTENT
    assert server.requests == [URL_PATH]
    assert fetch_file(ENTRY, FILE) == path
    assert len(server.requests) == 1
    assert names(cache / "toy") == ["toy.arff"]
    assert capfd.readouterr() == ("", "")


def test_all_files_of_a_set(server, cache, monkeypatch):
    second = replace(FILE, name="again.arff")
    monkeypatch.setattr(download, "find_entry", lambda name: replace(ENTRY, files=(FILE, second)))
    assert fetch("toy") == (cache / "toy/toy.arff", cache / "toy/again.arff")
    assert (cache / "toy/again.arff").read_bytes() == CONTENT


def test_progress_counts_bytes(server, cache):
    seen = []
    fetch_file(ENTRY, FILE, progress=lambda *args: seen.append(args))
    assert {(name, total) for name, _, total in seen} == {("toy.arff", len(CONTENT))}
    counts = [count for _, count, _ in seen]
    assert counts == sorted(counts)
    assert len(counts) > 2
    assert counts[-1] == len(CONTENT)


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    (cache / "toy").mkdir(parents=True)
    (cache / "toy/toy.arff").write_bytes(b"spoilt")
    assert cached_file(ENTRY, FILE) is None
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT


def test_not_found(server, cache):
    lost = replace(FILE, path="elsewhere.arff")
    with pytest.raises(DownloadError, match=r"elsewhere.arff: 404 Client Error: Not Found") as e:
        fetch_file(ENTRY, lost)
    assert str(cache / "toy") in str(e.value)
    assert names(cache / "toy") == []


@pytest.mark.parametrize("wrong", [b"x" * len(CONTENT), CONTENT[:-1]], ids=["other", "shorter"])
def test_files_with_a_wrong_hash_are_not_stored(server, cache, wrong):
    server.content = wrong
    found = hashlib.sha256(wrong).hexdigest()
    message = f"cannot fetch .*toy.arff: .*{SHA256}.*{found}"
    with pytest.raises(DownloadError, match=message):
        fetch_file(ENTRY, FILE)
    assert names(cache / "toy") == []
    server.content = CONTENT
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT


def test_a_file_that_is_too_long_is_not_read_to_its_end(server, cache):
    server.content = CONTENT * 100
    seen = []
    with pytest.raises(DownloadError, match=f"more than the {len(CONTENT)} bytes"):
        fetch_file(ENTRY, FILE, progress=lambda *args: seen.append(args[1]))
    assert max(seen) <= len(CONTENT)
    assert names(cache / "toy") == []


@pytest.mark.parametrize("behaviour", [{"cut_after": 200_000}, {"hang_after": 100_000}])
def test_broken_downloads_are_errors(server, cache, monkeypatch, behaviour):
    monkeypatch.setattr(download, "_TIMEOUT", 0.3)
    for name, value in behaviour.items():
        setattr(server, name, value)
    with pytest.raises(DownloadError, match="cannot fetch .*toy.arff: .*PAIRMEND_DATA"):
        fetch_file(ENTRY, FILE)
    assert names(cache / "toy") == []


CHILD = """
import hashlib, sys
from dataclasses import replace
from pairmend.datasets.catalogue import CatalogueFile, find_entry
from pairmend.datasets.download import fetch_file
sha256, size = sys.argv[1:]
file = CatalogueFile("toy.arff", sha256, int(size), "data/toy set/toy.arff")
entry = replace(find_entry("emotions"), name="toy", folder="toy",
                repository="https://github.com/someone/sets", commit="c0ffee")
path = fetch_file(entry, file)
assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
"""


def test_two_processes_at_once(server, cache):
    server.delay = 0.1
    command = [sys.executable, "-c", CHILD, SHA256, str(len(CONTENT))]
    children = [subprocess.Popen(command) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    assert (cache / "toy/toy.arff").read_bytes() == CONTENT
    assert names(cache / "toy") == ["toy.arff"]


def test_threads_at_once(server, cache):
    server.delay = 0.02
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(fetch_file(ENTRY, FILE).read_bytes()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [CONTENT] * 6
    assert names(cache / "toy") == ["toy.arff"]


def test_without_network(cache, monkeypatch):
    pytest.importorskip("pooch", reason="downloads need pooch")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("PAIRMEND_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(DownloadError) as e:  # no server at port 9
        fetch("yeast")
    message = str(e.value)
    for part in ("yeast.arff and yeast.xml", str(cache / "yeast"), "PAIRMEND_DATA", "mulan"):
        assert part in message
    assert message.count("\n") == 0


def test_without_pooch(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'pairmend\[data\]'.*toy.arff") as e:
        fetch_file(ENTRY, FILE)
    assert str(cache / "toy") in str(e.value)
    monkeypatch.delenv("PAIRMEND_CACHE")
    assert cached_file(ENTRY, FILE) is None
    with pytest.raises(ImportError, match=r"pairmend\[data\].*toy.arff"):
        fetch_file(ENTRY, FILE)


def test_cached_files_need_no_pooch(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    (cache / "toy").mkdir(parents=True)
    (cache / "toy/toy.arff").write_bytes(CONTENT)
    assert fetch_file(ENTRY, FILE) == cache / "toy/toy.arff"


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("PAIRMEND_CACHE", str(tmp_path / "a"))
    assert cache_folder() == tmp_path / "a"
    monkeypatch.delenv("PAIRMEND_CACHE")
    pooch = pytest.importorskip("pooch", reason="the default folder comes from pooch")
    assert str(cache_folder()) == str(pooch.os_cache("pairmend"))


def test_addresses(monkeypatch):
    monkeypatch.delenv("PAIRMEND_MIRROR", raising=False)
    assert file_url(ENTRY, FILE) == f"https://raw.githubusercontent.com{URL_PATH}"
    monkeypatch.setenv("PAIRMEND_MIRROR", "http://a.b/c/")
    assert file_url(ENTRY, FILE) == f"http://a.b/c{URL_PATH}"
    monkeypatch.setenv("PAIRMEND_MIRROR", "file:///etc")
    with pytest.raises(ValueError, match="http or https address, got 'file:///etc'"):
        file_url(ENTRY, FILE)
    monkeypatch.delenv("PAIRMEND_MIRROR")
    with pytest.raises(ValueError, match="expected a GitHub repository"):
        file_url(replace(ENTRY, repository="https://gitlab.com/a/b"), FILE)


def test_sets_that_have_no_files(cache):
    assert fetch("SimpleHC") == ()
    with pytest.raises(DownloadError, match="geobacter: No public copy was found"):
        fetch("geobacter")
