"""Serve a model file over HTTP with FastAPI: predictions and explanations of rows as JSON.

    pip install '.[cli]' fastapi uvicorn
    PAIRMEND_MODEL=photos.model uvicorn --app-dir examples service:app

``/docs`` lists the calls. docs/saving.md describes batch sizes, threads, memory and versions.
"""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field
from threadpoolctl import threadpool_limits

from pairmend.persistence import SavedModel, load_model

MAX_ROWS = 1000
"""Largest number of rows in a call: it bounds the time and the memory of an answer."""

Cell = float | str | bool | None


class Rows(BaseModel):
    """Rows to predict: a value by the name of the column; null is a missing value."""

    rows: Annotated[list[dict[str, Cell]], Field(min_length=1, max_length=MAX_ROWS)]


class Predictions(BaseModel):
    """The predicted labels of each row, and their probabilities."""

    labels: list[list[str]]
    probabilities: list[dict[str, float]]


def make_app(path: str, sha256: str | None = None) -> FastAPI:
    """Return the service of a model file."""
    loaded: dict[str, SavedModel] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Once, before the first call. A wrong file stops the service at its start.
        loaded["model"] = load_model(path, sha256=sha256)
        # Calls run in parallel threads: each takes one processor.
        with threadpool_limits(1):
            yield

    app = FastAPI(title="pairmend", lifespan=lifespan)

    @app.get("/health")
    def health() -> dict[str, Any]:
        """Return which model is served."""
        model = loaded["model"]
        return {
            "sha256": model.sha256,
            "features": model.feature_names,
            "labels": model.label_names,
            "versions": model.versions,
        }

    # Not async: FastAPI runs these in threads, so that a long call does not stop the others.
    @app.post("/predict")
    def predict(given: Rows) -> Predictions:
        """Predict the labels of rows."""
        model = loaded["model"]
        names = np.array(model.label_names, dtype=object)
        with _bad_rows_as_422():
            labels, proba = model.predict_both(given.rows)
        return Predictions(
            labels=[names[row == 1].tolist() for row in labels],
            probabilities=[dict(zip(names, row, strict=True)) for row in proba.tolist()],
        )

    @app.post("/explain", response_class=HTMLResponse)
    def explain(given: Rows) -> str:
        """Return a page that explains the predictions of rows."""
        model = loaded["model"]
        with _bad_rows_as_422():
            return model.explain(given.rows).to_html(title="Explanations")

    return app


@contextmanager
def _bad_rows_as_422() -> Iterator[None]:
    """Answer 422 for a missing column, a text where the model needs a number, or infinity."""
    try:
        yield
    except ValueError as error:
        raise HTTPException(422, str(error)) from error


def __getattr__(name: str) -> Any:
    """Make ``app`` when a server imports it."""
    if name == "app":
        return make_app(os.environ["PAIRMEND_MODEL"], os.environ.get("PAIRMEND_SHA256"))
    raise AttributeError(name)
