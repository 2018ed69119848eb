"""Downloads, against a real HTTP server on this machine."""

import hashlib
import os
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
PART = f"toy.arff.{SHA256[:8]}.part"


@dataclass
class Behaviour:
    """How the server responds, and the requests that it received."""

    content: bytes = CONTENT
    ranges: bool = True
    cut_after: int | None = None
    hang_after: int | None = None
    announce: bool = True
    delay: float = 0.0
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        behaviour = self.server.behaviour
        requested = self.headers.get("Range")
        behaviour.requests.append((self.path, requested))
        if self.path != URL_PATH:
            self.send_error(404)
            return
        body = behaviour.content
        if requested and behaviour.ranges:
            start = int(requested.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[start:]
        else:
            self.send_response(200)
        if behaviour.announce:
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
    assert server.requests == [(URL_PATH, None)]
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
    assert counts == sorted(set(counts))
    assert len(counts) > 2
    assert counts[-1] == len(CONTENT)


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    (cache / "toy").mkdir(parents=True)
    (cache / "toy/toy.arff").write_bytes(b"spoilt")
    assert cached_file(ENTRY, FILE) is None
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT


def test_not_found(server, cache):
    lost = replace(FILE, path="elsewhere.arff")
    with pytest.raises(
        DownloadError, match=r"elsewhere.arff: the server responds with 404 Not Found"
    ) as e:
        fetch_file(ENTRY, lost)
    assert str(cache / "toy") in str(e.value)
    assert names(cache / "toy") == []


@pytest.mark.parametrize("wrong", [b"x" * len(CONTENT), CONTENT[:-1]], ids=["other", "shorter"])
def test_files_with_a_wrong_hash_are_not_stored(server, cache, wrong):
    server.content = wrong
    found = hashlib.sha256(wrong).hexdigest()
    message = f"toy.arff .*its SHA-256 is {found}, expected {SHA256}. It was not stored"
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


@pytest.mark.parametrize("announce", [True, False], ids=["with length", "without length"])
def test_broken_downloads_are_continued(server, cache, announce):
    server.announce = announce
    server.cut_after = 200_000
    with pytest.raises(DownloadError, match=f"broke after 200000 of {len(CONTENT)} bytes"):
        fetch_file(ENTRY, FILE)
    assert names(cache / "toy") == [PART]
    server.cut_after = 50_000
    with pytest.raises(DownloadError, match=f"broke after 250000 of {len(CONTENT)} bytes"):
        fetch_file(ENTRY, FILE)
    server.cut_after = None
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT
    assert [requested for _, requested in server.requests] == [
        None,
        "bytes=200000-",
        "bytes=250000-",
    ]
    assert names(cache / "toy") == ["toy.arff"]


def test_download_starts_again_if_the_server_supports_no_ranges(server, cache):
    server.cut_after, server.ranges = 200_000, False
    with pytest.raises(DownloadError, match="broke after 200000"):
        fetch_file(ENTRY, FILE)
    server.cut_after = None
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT
    assert server.requests[-1] == (URL_PATH, "bytes=200000-")


def test_timeout_keeps_the_received_part(server, cache):
    server.hang_after = 100_000
    with pytest.raises(DownloadError, match=r"broke after 100000 of .* bytes \(timed out\)"):
        fetch_file(ENTRY, FILE, timeout=0.3)
    server.hang_after = None
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT
    assert server.requests[-1] == (URL_PATH, "bytes=100000-")


def test_a_damaged_part_is_discarded(server, cache):
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / PART).write_bytes(b"x" * 1000)
    with pytest.raises(DownloadError, match="SHA-256"):
        fetch_file(ENTRY, FILE)
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT
    (cache / "toy/toy.arff").unlink()
    (cache / "toy" / PART).write_bytes(b"x" * len(CONTENT))
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT


def test_a_part_longer_than_the_file_of_the_server(server, cache):
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / PART).write_bytes(CONTENT[:2000])
    server.content = b"x" * 1000
    with pytest.raises(DownloadError, match=hashlib.sha256(server.content).hexdigest()):
        fetch_file(ENTRY, FILE)
    assert [requested for _, requested in server.requests] == ["bytes=2000-", None]


def test_parts_of_other_processes_are_used_only_when_old(server, cache):
    (cache / "toy").mkdir(parents=True)
    part = cache / "toy" / f"{PART}.0123"
    part.write_bytes(CONTENT[:1000])
    fetch_file(ENTRY, FILE)
    assert part.read_bytes() == CONTENT[:1000], "another process may still write to it"
    assert server.requests[-1] == (URL_PATH, None)
    (cache / "toy/toy.arff").unlink()
    (cache / "toy" / f"{PART}.4567").write_bytes(CONTENT[:500])
    for abandoned in (cache / "toy").iterdir():
        os.utime(abandoned, (0, 0))
    fetch_file(ENTRY, FILE)
    assert server.requests[-1] == (URL_PATH, "bytes=1000-")
    assert names(cache / "toy") == ["toy.arff"]


def test_ctrl_c_keeps_the_received_part(server, cache):
    def interrupt(name, present, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_file(ENTRY, FILE, progress=interrupt)
    assert names(cache / "toy") == [PART]
    assert fetch_file(ENTRY, FILE).read_bytes() == CONTENT


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
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / PART).write_bytes(CONTENT[:1000])
    server.delay = 0.1
    command = [sys.executable, "-c", CHILD, SHA256, str(len(CONTENT))]
    children = [subprocess.Popen(command) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    assert (cache / "toy/toy.arff").read_bytes() == CONTENT
    assert names(cache / "toy") == ["toy.arff"]
    # Only one of the two may go on with the part that was there.
    assert [requested for _, requested in server.requests].count("bytes=1000-") == 1


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
    with pytest.raises(DownloadError) as e:  # no server at port 9
        fetch("yeast", mirror="http://127.0.0.1:9")
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
    assert cache_folder(tmp_path / "b") == tmp_path / "b"
    monkeypatch.delenv("PAIRMEND_CACHE")
    pooch = pytest.importorskip("pooch", reason="the default folder comes from pooch")
    assert str(cache_folder()) == str(pooch.os_cache("pairmend"))


def test_addresses(monkeypatch):
    monkeypatch.delenv("PAIRMEND_MIRROR", raising=False)
    assert file_url(ENTRY, FILE) == f"https://raw.githubusercontent.com{URL_PATH}"
    monkeypatch.setenv("PAIRMEND_MIRROR", "http://a.b/c/")
    assert file_url(ENTRY, FILE) == f"http://a.b/c{URL_PATH}"
    assert file_url(ENTRY, FILE, mirror="http://d.e") == f"http://d.e{URL_PATH}"
    with pytest.raises(ValueError, match="http or https address, got 'file:///etc'"):
        file_url(ENTRY, FILE, mirror="file:///etc")
    with pytest.raises(ValueError, match="expected a GitHub repository"):
        file_url(replace(ENTRY, repository="https://gitlab.com/a/b"), FILE)


def test_sets_that_have_no_files(cache):
    assert fetch("SimpleHC") == ()
    with pytest.raises(DownloadError, match="geobacter: No public copy was found"):
        fetch("geobacter")
