"""SavedModel: a loaded model, which predicts and explains rows of all kinds, dicts included."""

from dataclasses import dataclass
from typing import Any

from pairmend._base import MultiLabelClassifier
from pairmend.explanation import Explanations, explain
from pairmend.persistence.rows import prepared


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, with the names and types of its columns.

    Attributes
    ----------
    estimator : classifier
        The fitted classifier, or a pipeline that ends in one.
    feature_names : tuple of str
        Names of the features, in the order of the estimator's columns; empty if not saved.
    label_names : tuple of str
        Names of the labels, in the order of the predicted columns; empty if not saved.
    versions : dict
        Versions of the packages that it was saved with.
    sha256 : str
        The SHA-256 of the file, which identifies the model.
    kinds : tuple of str or None
        Kinds of the columns of the frame that the estimator was fitted on; None if it was fitted
        on an array.
    tags : tuple of str or None
        The column of tags that the labels were read from by ``pairmend fit --tags``, and their
        separator, empty if none was given.
    left_out : tuple of str
        Further columns of the file that ``pairmend fit`` read, which the estimator does not use.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pandas as pd
    >>> from pairmend.baselines import BinaryRelevance
    >>> from pairmend.base_classifiers import ScaledLogisticRegression
    >>> from pairmend.persistence import load_model, save_model
    >>> photos = pd.DataFrame({"blue": [0.1, 0.9, 0.8], "place": ["town", "sea", "sea"]})
    >>> labels = pd.DataFrame({"water": [0, 1, 1], "people": [1, 0, 1]})
    >>> clf = BinaryRelevance(ScaledLogisticRegression()).fit(photos, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.model")
    ...     _ = save_model(clf, path)
    ...     saved = load_model(path)
    >>> saved.predict([{"place": "sea", "blue": 0.9}, {"place": "town", "blue": "0.1"}]).tolist()
    [[1, 1], [0, 1]]
    """

    estimator: Any
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    versions: dict[str, str]
    sha256: str
    kinds: tuple[str, ...] | None = None
    tags: tuple[str, str] | None = None
    left_out: tuple[str, ...] = ()

    def predict(self, rows: Any) -> Any:
        """Predict the labels of rows.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            Arrays and frames are passed to the estimator unchanged. Columns, or keys of dicts,
            must be those of fit: as for scikit-learn's estimators no name is missing or added,
            and columns are in the same order. Dicts may hold texts: numbers in plain notation,
            such as "1.5" or "2e3"; true or false, t or f, yes or no, y or n, 1 or 0 for booleans;
            dates in ISO 8601. None is a missing value.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Raises
        ------
        ValueError
            If the columns are others, or a cell is not of the kind of its column in fit.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.dummy import DummyClassifier
        >>> from pairmend.persistence import SavedModel
        >>> fitted = DummyClassifier(strategy="prior").fit([[0.0], [1.0]], [[1, 0], [1, 1]])
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, "")
        >>> saved.predict([{"size": "0.5"}]).tolist()
        [[1, 0]]
        """
        return self.estimator.predict(self.prepare(rows))

    def predict_proba(self, rows: Any) -> Any:
        """Predict probabilities of labels.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            As for :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            The output of ``predict_proba`` of the estimator.

        Examples
        --------
        >>> from pairmend.baselines import BinaryRelevance
        >>> from pairmend.persistence import SavedModel
        >>> fitted = BinaryRelevance().fit([[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [0, 1]])
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, "")
        >>> saved.predict_proba([{"size": 0.5}]).shape
        (1, 2)
        """
        return self.estimator.predict_proba(self.prepare(rows))

    def predict_both(self, rows: Any) -> tuple[Any, Any]:
        """Predict labels and probabilities of rows in one pass.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            As for :meth:`predict`.

        Returns
        -------
        labels, proba : ndarray of shape (n_rows, n_labels)
            The results of :meth:`predict` and :meth:`predict_proba`.

        Examples
        --------
        >>> from pairmend.baselines import BinaryRelevance
        >>> from pairmend.persistence import SavedModel
        >>> fitted = BinaryRelevance().fit([[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [0, 1]])
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, "")
        >>> labels, proba = saved.predict_both([{"size": 0.5}])
        >>> labels.tolist() == (proba > 0.5).astype(int).tolist()
        True
        """
        X, classifier = self.prepare(rows), self.estimator
        if len(getattr(classifier, "steps", ())) > 1:
            X, classifier = classifier[:-1].transform(X), classifier[-1]
        if isinstance(classifier, MultiLabelClassifier):
            return classifier._labels_and_proba(X)
        return classifier.predict(X), classifier.predict_proba(X)

    def explain(self, rows: Any, *, background: Any = None, **options: Any) -> Explanations:
        """Explain the predictions of rows.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            As for :meth:`predict`.
        background : DataFrame, MultiLabelData, list of dicts or array-like, default=None
            As for :func:`pairmend.explanation.explain`.
        **options
            `labels`, `n_contributions` and `n_neighbors`, as for the same function.

        Returns
        -------
        Explanations
            One for each row, with the names of the labels.

        Examples
        --------
        >>> from pairmend import MendedClassifier
        >>> from pairmend.persistence import SavedModel
        >>> X, Y = [[0.0], [1.0], [2.0]] * 9, [[1, 0], [1, 1], [0, 1]] * 9
        >>> fitted = MendedClassifier(random_state=0).fit(X, Y)
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, "")
        >>> (explanation,) = saved.explain([{"size": 0.5}], labels=["sun"])
        >>> explanation.labels[0].contributions[0].name
        'size'
        """
        return explain(
            self.estimator,
            self.prepare(rows),
            background=None if background is None else self.prepare(background),
            feature_names=self.feature_names,
            label_names=self.label_names,
            **options,
        )

    def prepare(self, rows: Any) -> Any:
        """Convert rows to the input of the estimator.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            As for :meth:`predict`.

        Returns
        -------
        DataFrame, ndarray or CSR
            Rows for ``estimator.predict``.

        Examples
        --------
        >>> from pairmend.persistence import SavedModel
        >>> saved = SavedModel(None, ("size", "blue"), (), {}, "")
        >>> saved.prepare([{"blue": "1e2", "size": 0.5}]).tolist()
        [[0.5, 100.0]]
        """
        return prepared(rows, self.feature_names, self.kinds)

    def text_columns(self) -> tuple[str, ...]:
        """Return the columns whose cells are texts, even if they look like numbers.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> from pairmend.persistence import SavedModel
        >>> saved = SavedModel(None, ("size", "code"), (), {}, "", ("number", "category"))
        >>> saved.text_columns()
        ('code',)
        """
        kinds = zip(self.feature_names, self.kinds or (), strict=self.kinds is not None)
        return tuple(name for name, kind in kinds if kind not in ("number", "other"))
