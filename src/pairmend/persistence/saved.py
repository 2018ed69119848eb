"""SavedModel: a loaded model, which predicts and explains rows of all kinds, dicts included."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._base import MultiLabelClassifier
from pairmend._utils.frames import is_frame
from pairmend.datasets import MultiLabelData, one_hot
from pairmend.explanation import Explanations, add_features
from pairmend.explanation.problem import N_NEIGHBORS
from pairmend.persistence.rows import (
    cells_of,
    check_names,
    has_names,
    read_columns,
    same_categories,
    to_array,
    to_frame,
)


@dataclass(frozen=True)
class TagColumn:
    """A column that lists tags, and the separator between them."""

    column: str
    separator: str | None


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
    categories : dict
        Values of categorical features by feature number, as in
        :class:`~pairmend.datasets.MultiLabelData`.
    versions : dict
        Versions of the packages that it was saved with.
    sha256 : str
        The SHA-256 of the file, which identifies the model.
    kinds : tuple of str or None
        Kinds of the columns of the frame that the estimator was fitted on; None if it was fitted
        on an array.
    tags : TagColumn or None
        The column of tags, and their separator, that the labels were read from by ``pairmend
        fit --tags``.
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
    categories: dict[int, tuple[str, ...]]
    versions: dict[str, str]
    sha256: str
    kinds: tuple[str, ...] | None = None
    tags: TagColumn | None = None
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
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, {}, "")
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
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, {}, "")
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
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, {}, "")
        >>> labels, proba = saved.predict_both([{"size": 0.5}])
        >>> labels.tolist() == (proba > 0.5).astype(int).tolist()
        True
        """
        X, classifier = self.prepare(rows), self.estimator
        if hasattr(classifier, "steps"):
            for _, step in classifier.steps[:-1]:
                X = X if step in (None, "passthrough") else step.transform(X)
            classifier = classifier[-1]
        if isinstance(classifier, MultiLabelClassifier):
            return classifier._labels_and_proba(X)
        return classifier.predict(X), classifier.predict_proba(X)

    def explain(
        self,
        rows: Any,
        *,
        training: Any = None,
        n_neighbors: int = N_NEIGHBORS,
        n_problems: int | None = None,
    ) -> Explanations:
        """Explain the predictions of rows.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            As for :meth:`predict`.
        training : DataFrame, MultiLabelData, list of dicts or array-like, default=None
            The rows given to fit. With them the explanation has the numbers, the index and the
            feature values of the neighbours, which are looked up: a model file does not have them.
            Without them, neighbours have the numbers of the rows in the file.
        n_neighbors, n_problems : int
            As for ``explain`` of the classifier.

        Returns
        -------
        list of Explanation
            One for each row, with the names of the labels, and with feature values as in `rows`.

        Examples
        --------
        >>> from pairmend import MendedClassifier
        >>> from pairmend.persistence import SavedModel
        >>> X, Y = [[0.0], [1.0], [2.0]] * 9, [[1, 0], [1, 1], [0, 1]] * 9
        >>> fitted = MendedClassifier(random_state=0).fit(X, Y)
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, {}, "")
        >>> (explanation,) = saved.explain([{"size": 0.5}])
        >>> [label.name for label in explanation.labels]
        ['sea', 'sun']
        """
        X_training = None if training is None else self.prepare(training)
        return explain_prepared(
            self,
            self.prepare(rows),
            rows,
            X_training,
            training,
            n_neighbors=n_neighbors,
            n_problems=n_problems,
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
        >>> saved = SavedModel(None, ("size", "hue"), (), {1: ("blue", "red")}, {}, "")
        >>> saved.prepare([{"hue": "red", "size": 0.5}]).tolist()
        [[0.5, 1.0]]
        """
        if not has_names(rows):
            return rows
        if not self.feature_names:
            raise ValueError(
                "the model has no feature names; pass feature_names to save_model, or predict an "
                "array"
            )
        if is_frame(rows) and self.kinds is not None:
            return rows
        is_table = isinstance(rows, MultiLabelData)
        if is_table and self.kinds is None and same_categories(rows, self.categories):
            check_names(rows.name, rows.feature_names, self.feature_names)
            return self._encoded(rows.X)
        columns = read_columns(rows, self.feature_names)
        source = rows.name if is_table else "X"
        if self.kinds is not None:
            return to_frame(columns, self.kinds, source)
        return self._encoded(to_array(columns, self.categories, source))

    def text_columns(self) -> tuple[str, ...]:
        """Return the columns whose cells are texts, even if they look like numbers.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> from pairmend.persistence import SavedModel
        >>> saved = SavedModel(None, ("size", "code"), (), {1: ("1", "2")}, {}, "")
        >>> saved.text_columns()
        ('code',)
        """
        if self.kinds is None:
            return tuple(self.feature_names[f] for f in self.categories)
        kinds = zip(self.feature_names, self.kinds, strict=True)
        return tuple(name for name, kind in kinds if kind not in ("number", "other"))

    def _encoded(self, X: Any) -> Any:
        """Replace codes of categories by indicators, unless the estimator was fitted on codes."""
        n_expected = getattr(self.estimator, "n_features_in_", None)
        if not self.categories or n_expected == X.shape[1]:
            return X
        nothing = np.empty((X.shape[0], 0), dtype=np.int64)
        return one_hot(
            MultiLabelData(X, nothing, self.feature_names, (), self.categories, "X", ())
        ).X


def explain_prepared(
    model: SavedModel,
    X: Any,
    rows: Any,
    X_training: Any = None,
    training: Any = None,
    *,
    n_neighbors: int,
    n_problems: int | None,
) -> Explanations:
    """Explain rows, given as the estimator needs them and as they were read."""
    classifier, typed = model.estimator, (X, X_training)
    if hasattr(classifier, "steps"):
        transform = classifier[:-1].transform if len(classifier.steps) > 1 else lambda given: given
        X, classifier = transform(X), classifier[-1]
        X_training = None if X_training is None else transform(X_training)
    if not hasattr(classifier, "explain"):
        raise ValueError(
            f"the model is a {type(classifier).__name__}, which has no explanations; fit a "
            "MendedClassifier or a CorrectedPairwiseClassifier"
        )
    if model.label_names:
        classifier = copy(classifier)  # the model keeps its classes
        classifier.classes_ = np.array(model.label_names, dtype=object)
    explained = classifier.explain(
        X, training=X_training, n_neighbors=n_neighbors, n_problems=n_problems
    )
    if (table := _feature_columns(model, rows)) is None:
        return explained
    known = None if training is None else _feature_columns(model, training)
    return Explanations(
        add_features(explained, table, known, names=model.feature_names, typed=typed)
    )


def _feature_columns(model: SavedModel, rows: Any) -> Any:
    """Return the features of the model in rows, as they were read; None for arrays."""
    names = list(model.feature_names)
    if not has_names(rows):
        return None
    if is_frame(rows):
        return rows[names]
    if not isinstance(rows, MultiLabelData):
        return {name: _as_array(cells) for name, cells in read_columns(rows, names).items()}
    places = [rows.feature_names.index(name) for name in names]  # there may be further columns
    if hasattr(rows.X, "tocsr"):
        return rows.X.tocsr()[:, places]
    return {name: _as_array(cells_of(rows, k)) for name, k in zip(names, places, strict=True)}


def _as_array(cells: Any) -> np.ndarray[Any, Any]:
    """Return cells as an array: of objects if they are a list."""
    if isinstance(cells, np.ndarray):
        return cells
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
