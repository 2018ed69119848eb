"""examples/service.py: started on a free port, and called."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.persistence import load_model, save_model

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
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


@pytest.fixture(scope="module")
def service(model):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        patch.setenv("PAIRMEND_MODEL", str(model))
        server = uvicorn.Server(uvicorn.Config("service:app", port=0, log_level="warning"))
        thread = Thread(target=server.run)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield "http://127.0.0.1:{1}".format(*server.servers[0].sockets[0].getsockname())
        server.should_exit = True
        thread.join()


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
        ({"rows": [{"blue": 0.5, "place": "coast", "id": 7}]}, "not known: ['id']"),
        ({"rows": [{"blue": "many", "place": "coast"}]}, "column 'blue', row 0 is 'many'"),
        ({"rows": [{"blue": "1e999", "place": "coast"}]}, "infinity"),
        ({"rows": []}, "at least 1 item"),
        ({"rows": [{"blue": 1.0, "place": "coast"}] * 1001}, "at most 1000 items"),
        ({"row": {}}, "Field required"),
    ):
        status, text = call(f"{service}/predict", content)
        assert (status, message in text) == (422, True), text


def test_a_file_with_another_digest_is_not_served(model):
    words = [sys.executable, "-m", "uvicorn", "--app-dir", EXAMPLES, "--port", "0", "service:app"]
    given = {**os.environ, "PAIRMEND_MODEL": str(model), "PAIRMEND_SHA256": "0" * 64}
    ran = subprocess.run(words, env=given, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode != 0
    assert "SHA-256" in ran.stderr
