"""examples/service.py: started on a free port, and called."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.persistence import load_model, save_model

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = [
    {"blue": 0.9, "place": "coast"},
    {"blue": "0.1", "place": None},
    {"blue": 0.4, "place": None},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model file of two columns and two labels."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"blue": rng.rand(60).round(3), "place": rng.choice(["town", "coast"], 60)})
    Y = pd.DataFrame({"sea": X["place"] == "coast", "sun": X["blue"] > 0.5}).astype(int)
    path = tmp_path_factory.mktemp("service") / "photos.model"
    save_model(MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X, Y), path)
    return path


def start(model, **environment):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        sys.executable, "-m", "uvicorn", "--app-dir", EXAMPLES, "--host", "127.0.0.1",
        "--port", str(port), "--log-level", "warning", "service:app",
    ]  # fmt: skip
    given = {**os.environ, "PAIRMEND_MODEL": str(model), "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(words, env=given, stderr=subprocess.PIPE, text=True), port


@pytest.fixture(scope="module")
def service(model):
    process, port = start(model)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            assert process.poll() is None, process.stderr.read()
            try:
                urlopen(f"{address}/health", timeout=5)
                break
            except URLError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.communicate(timeout=60)


def call(address, content=None):
    """Return the status and the text of an answer."""
    data = None if content is None else json.dumps(content).encode()
    request = Request(address, data=data, headers={"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_predictions_explanations_and_the_name_of_the_model(service, model):
    saved, names = load_model(model), np.array(["sea", "sun"])
    status, text = call(f"{service}/predict", {"rows": ROWS})
    answer = json.loads(text)
    proba = [[row["sea"], row["sun"]] for row in answer["probabilities"]]
    np.testing.assert_allclose(proba, saved.predict_proba(ROWS), rtol=1e-12)
    assert answer["labels"] == [names[row == 1].tolist() for row in saved.predict(ROWS)]
    status, text = call(f"{service}/health")
    answer = json.loads(text)
    assert (status, answer["sha256"]) == (200, saved.sha256)
    assert (answer["features"], answer["labels"]) == (["blue", "place"], ["sea", "sun"])
    pytest.importorskip("jinja2")
    status, text = call(f"{service}/explain", {"rows": ROWS[:1]})
    assert (status, text[:15]) == (200, "<!DOCTYPE html>")
    assert "sea" in text


def test_wrong_calls_have_an_answer_with_the_reason(service):
    for content, message in (
        ({"rows": [{"place": "coast"}]}, "blue"),
        ({"rows": [{"blue": 0.5, "place": "coast", "id": 7}]}, "have ['id']"),
        ({"rows": [{"blue": "many", "place": "coast"}]}, "column 'blue', row 0 is 'many'"),
        ({"rows": [{"blue": "1e999", "place": "coast"}]}, "infinity"),
        ({"rows": []}, "at least 1 item"),
        ({"rows": [{"blue": 1.0, "place": "coast"}] * 1001}, "at most 1000 items"),
        ({"row": {}}, "Field required"),
    ):
        status, text = call(f"{service}/predict", content)
        assert (status, message in text) == (422, True), text


def test_a_file_with_another_digest_is_not_served(model):
    process, _ = start(model, PAIRMEND_SHA256="0" * 64)
    try:
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "SHA-256" in errors
