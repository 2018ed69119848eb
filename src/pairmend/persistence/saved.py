"""SavedModel: a loaded model, which predicts rows of frames, tables, dicts and arrays."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairmend._utils.columns import FrameColumns
from pairmend.datasets import MultiLabelData, one_hot
from pairmend.explanation import Explanations
from pairmend.explanation.problem import N_NEIGHBORS
from pairmend.persistence.explaining import explain_prepared
from pairmend.persistence.matching import check_names, match_features
from pairmend.persistence.rows import Columns, read_columns, to_frame, to_table
from pairmend.persistence.training_rows import TagColumn, TrainingRows


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
    frame : FrameColumns or None
        Types of the columns of the frame that the estimator was fitted on; None if it was fitted
        on an array.
    tags : TagColumn or None
        The column of tags, and their separator, that the labels were read from by ``pairmend
        fit --tags``.
    training_rows : TrainingRows or None
        Hashes of rows that ``pairmend fit`` trained on, to recognise them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pandas as pd
    >>> from pairmend import BinaryRelevance
    >>> from pairmend.base_classifiers import logistic_regression
    >>> from pairmend.persistence import load_model, save_model
    >>> photos = pd.DataFrame({"blue": [0.1, 0.9, 0.8], "place": ["town", "sea", "sea"]})
    >>> labels = pd.DataFrame({"water": [0, 1, 1], "people": [1, 0, 1]})
    >>> clf = BinaryRelevance(logistic_regression()).fit(photos, labels)
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
    frame: FrameColumns | None = None
    tags: TagColumn | None = None
    training_rows: TrainingRows | None = None

    def predict(self, rows: Any) -> Any:
        """Predict the labels of rows.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            Columns of a pandas or polars frame or a table, or keys of dicts, are matched by name;
            they may have any order, and further columns are ignored. Numbers may be written as
            texts. An array is passed to the estimator unchanged.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)

        Raises
        ------
        ValueError
            If a column is missing, or holds texts where the model was fitted on numbers.

        Warns
        -----
        UserWarning
            If there are columns that the model does not use, or values of a column that did not
            occur in training.

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
        return self.estimator.predict(self._prepared(rows))

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
        >>> from pairmend import BinaryRelevance
        >>> from pairmend.persistence import SavedModel
        >>> fitted = BinaryRelevance().fit([[0.0], [1.0], [2.0]], [[1, 0], [1, 1], [0, 1]])
        >>> saved = SavedModel(fitted, ("size",), ("sea", "sun"), {}, {}, "")
        >>> saved.predict_proba([{"size": 0.5}]).shape
        (1, 2)
        """
        return self.estimator.predict_proba(self._prepared(rows))

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
            The rows given to fit, in the same order. With them the explanation has the index and
            the feature values of the neighbours, which a model file does not have.
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
        X = self._prepared(rows)
        known = None if training is None else self.prepare(training)[0]
        return explain_prepared(
            self, X, rows, known, training, n_neighbors=n_neighbors, n_problems=n_problems
        )

    def prepare(self, rows: Any, *, ignore: Sequence[str] = ()) -> tuple[Any, list[str]]:
        """Convert rows to the input of the estimator.

        Parameters
        ----------
        rows : DataFrame, MultiLabelData, list of dicts or array-like
            As for :meth:`predict`.
        ignore : sequence of str, default=()
            Columns to leave out of the notes.

        Returns
        -------
        X : DataFrame, ndarray or CSR
            Rows for ``estimator.predict``.
        notes : list of str
            The warnings of :meth:`predict`.

        Examples
        --------
        >>> import numpy as np
        >>> from pairmend.persistence import SavedModel
        >>> saved = SavedModel(None, ("size", "hue"), (), {1: ("blue", "red")}, {}, "")
        >>> X, notes = saved.prepare([{"hue": "red", "size": 0.5, "id": 7}])
        >>> X.tolist(), notes
        ([[0.5, 1.0]], ['columns not used: id'])
        """
        columns = None if _is_sparse_table(rows) else read_columns(rows)
        if columns is None and not isinstance(rows, MultiLabelData):
            return rows, []
        if not self.feature_names:
            raise ValueError(
                "the model has no feature names; pass feature_names to save_model, or predict an "
                "array"
            )
        source = rows.name if isinstance(rows, MultiLabelData) else "X"
        found = rows.feature_names if columns is None else tuple(columns)
        check_names(source, found, self.feature_names)
        if self.frame is not None:
            table = columns if columns is not None else read_columns(rows)
            X, unknown = to_frame(rows, table or {}, self.feature_names, self.frame, source)
            consequence = ""
        else:
            X, unknown = self._array(rows, columns, source)
            consequence = ", which count as missing"
        used = {*self.feature_names, *self.label_names, *ignore}
        used |= set() if self.tags is None else {self.tags.column}
        notes = []
        if unused := [name for name in found if name not in used]:
            notes.append(f"columns not used: {_some(unused)}")
        notes += [
            f"column {name!r} holds values that did not occur in training{consequence}: "
            f"{_some(values)}"
            for name, values in unknown.items()
        ]
        return X, notes

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
        if self.frame is None:
            return tuple(self.feature_names[f] for f in self.categories)
        kinds = zip(self.feature_names, self.frame.kinds, strict=True)
        return tuple(name for name, kind in kinds if kind not in ("number", "other"))

    def _prepared(self, rows: Any) -> Any:
        X, notes = self.prepare(rows)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)
        return X

    def _array(
        self, rows: Any, columns: Columns | None, source: str
    ) -> tuple[Any, dict[str, tuple[str, ...]]]:
        """Return numbers for an estimator that was fitted on an array."""
        data = rows
        if not isinstance(data, MultiLabelData):
            data = to_table(columns or {}, source, self.text_columns())
        matched = match_features(data, self.feature_names, self.categories)
        X = one_hot(matched.data).X
        expected = getattr(self.estimator, "n_features_in_", X.shape[1])
        if X.shape[1] != expected == len(self.feature_names):  # fitted on the codes of categories
            X = matched.data.X
        return X, matched.unknown


def _is_sparse_table(rows: Any) -> bool:
    return isinstance(rows, MultiLabelData) and hasattr(rows.X, "tocsr")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
