"""FrameEncoder: applies the reader of each column (kinds.py) to a frame."""

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pairmend._utils import arrays
from pairmend._utils.classifiers import check_params
from pairmend._utils.sklearn_private import HasMethods, Interval
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.frames.columns import Column, read_column
from pairmend.frames.kinds import (
    COMPONENTS,
    KINDS,
    VOCABULARY,
    ColumnSummary,
    ColumnWarning,
    choose_reader,
    word_counter,
)


def takes_encoded_frames(estimator: Any) -> bool:
    """Return whether a classifier accepts rows encoded by a FrameEncoder with default options."""
    first = estimator[0] if isinstance(estimator, Pipeline) else estimator
    return bool(getattr(first, "takes_encoded_frames", False))


def encoded_once(estimator: Any, X: MatrixLike) -> tuple[MatrixLike, "FrameEncoder | None"]:
    """Return a frame encoded once for all problems, and the encoder, if a classifier accepts it.

    Other rows are returned as they are.
    """
    if not (arrays.is_frame(X) and takes_encoded_frames(estimator)):
        return X, None
    encoder = FrameEncoder().fit(X)
    return encoder.encode(X), encoder


class FrameEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a frame as numbers, each by its kind.

    The kind of a column is determined by its values, not by its library:

    - numbers, booleans, and strings all of which are numbers in plain notation: as they are;
    - dates, and strings all of which are dates in ISO 8601, such as 2024-12-31: days since 1970,
      and sine and cosine of the time of the year, of the week and, if there are times, of the day;
    - durations: seconds, as numbers;
    - strings of several words that rarely repeat: TF-IDF of the words and pairs of words that occur
      in at least two rows, projected to at most 100 components by a truncated SVD. Logistic
      regressions of this library use the TF-IDF itself;
    - other strings, and all columns of a categorical dtype: the code of the category. Categories
      beyond the 100 most frequent ones share one code.

    Columns without any value, and columns of strings that differ in nearly every row, are left
    out with a :class:`ColumnWarning`; another one names values among numbers or dates that are
    neither, and dates such as 31.12.2024, which are strings. So are numbers in other notations,
    with decimal commas, separators of thousands, a currency or per cent. Missing values are NaN.

    A fitted encoder holds the categories that it distinguishes and the words that it counts, and
    no other values of the columns.

    Parameters
    ----------
    kinds : dict, default=None
        Kinds of columns by name, in place of the automatic choice: "number", "category",
        "date", "text" or "ignored".
    ngram_range : tuple of int, default=(1, 2)
        Smallest and largest number of consecutive words of texts that are counted together.
    min_df : int or float, default=2
        Smallest number of rows that have a word, or their share. With 1, a fitted encoder holds
        words of single rows, too.
    max_words : int or None, default=100_000
        Largest number of words and pairs of words of a column; the most frequent are counted.
    n_components : int, default=100
        Largest number of components of a text column, for all but logistic regressions.
    vectorizer : transformer, default=None
        Turns a list of texts into numbers, sparse or dense, in place of the TF-IDF; `ngram_range`,
        `min_df` and `max_words` must then have their defaults. A missing text is an empty one.

    Attributes
    ----------
    columns_ : tuple of ColumnSummary
        How each column was read. ``pandas.DataFrame(encoder.columns_)`` shows it as a table.
    n_categories_ : ndarray of int, shape (n_encoded,)
        For each encoded column the number of categories; 0 for numbers, -1 for components of
        texts and dates, which are not scaled, and -2 for those of a truncated SVD.
    source_ : ndarray of int, shape (n_encoded,)
        Number of the column of the frame that each encoded column comes from.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.

    Notes
    -----
    skrub's ``TableVectorizer`` encodes frames in a similar way. It is not used here, because it
    does not define distances, its types are not trusted in model files, and results must not
    depend on the installed packages. It can be a step of a pipeline or a `transformer`, as any
    transformer of scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairmend.frames import FrameEncoder
    >>> photos = pd.DataFrame({
    ...     "blue": [0.5, None, 2.0],
    ...     "place": ["coast", "town", "coast"],
    ... })
    >>> encoder = FrameEncoder().fit(photos)
    >>> encoder.transform(photos).tolist()
    [[0.5, 0.0], [nan, 1.0], [2.0, 0.0]]
    >>> [(column.name, column.kind, column.n_missing) for column in encoder.columns_]
    [('blue', 'number', 1), ('place', 'category', 0)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kinds": [Mapping, None],
        "ngram_range": [tuple],
        "min_df": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="both")],
        "max_words": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
    }

    columns_: tuple[ColumnSummary, ...]
    n_categories_: IntArray
    source_: IntArray

    def __init__(
        self,
        kinds: Mapping[Any, str] | None = None,
        *,
        ngram_range: tuple[int, int] = (1, 2),
        min_df: float = 2,
        max_words: int | None = VOCABULARY,
        n_components: int = COMPONENTS,
        vectorizer: Any = None,
    ):
        self.kinds = kinds
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_words = max_words
        self.n_components = n_components
        self.vectorizer = vectorizer

    def fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Determine the kind of each column.

        Parameters
        ----------
        X : DataFrame or list of str
            A frame of pandas or polars, a table of pyarrow, or texts, which are one column.
        y : None
            Not used.

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas as pd
        >>> from pairmend.frames import FrameEncoder
        >>> encoder = FrameEncoder().fit(pd.DataFrame({"day": ["2024-05-17", "2024-05-18"]}))
        >>> encoder.columns_[0].kind
        'date'
        """
        check_params(self, self.get_params(deep=False))
        kinds = dict(self.kinds or {})
        if arrays.is_texts(X):
            X, kinds = arrays.TextTable(X), {arrays.TextTable.column_names[0]: "text"} | kinds
        if not arrays.is_frame(X):
            raise ValueError(
                f"FrameEncoder expects a pandas or polars frame, got a {type(X).__name__}. Convert "
                "it, for instance with pandas.DataFrame(X)."
            )
        names = arrays.frame_columns(X)
        if not names:
            raise ValueError("0 feature(s) while a minimum of 1 is required: X has no columns.")
        if len(set(names)) < len(names):
            twice = sorted({str(name) for name in names if names.count(name) > 1})
            raise ValueError(f"X has several columns of the same name: {twice}. Rename them.")
        if unknown := [name for name in kinds if name not in names]:
            raise ValueError(f"kinds names columns that X lacks: {unknown}.")
        if wrong := {name: kind for name, kind in kinds.items() if kind not in KINDS}:
            raise ValueError(f"kinds must be among {', '.join(KINDS)}; got {wrong}.")
        counting = self.ngram_range, self.min_df, self.max_words
        if self.vectorizer is not None and counting != ((1, 2), 2, VOCABULARY):
            raise ValueError(
                "ngram_range, min_df and max_words have no effect with a vectorizer. Set them in "
                "the vectorizer."
            )
        vectorizer = word_counter(*counting) if self.vectorizer is None else self.vectorizer
        found = [
            choose_reader(read_column(X, position), kinds.get(name), vectorizer, self.n_components)
            for position, name in enumerate(names)
        ]
        for name, (_, _, note) in zip(names, found, strict=True):
            if note:
                warnings.warn(f"Column {name!r}: {note}.", ColumnWarning, stacklevel=2)
        arrays.set_feature_attributes(self, X)
        self._readers = [reader for reader, _, _ in found]
        self.columns_ = tuple(summary for _, summary, _ in found)
        layouts = [reader.layout for reader in self._readers]
        self.source_ = np.repeat(np.arange(len(names)), [len(layout) for layout in layouts])
        flat = [entry for layout in layouts for entry in layout]
        self.n_categories_ = np.array([n_categories for n_categories, _ in flat], dtype=np.int64)
        self.distance_factor_ = np.array([factor for _, factor in flat], dtype=float)
        return self

    def transform(self, X: MatrixLike) -> FloatArray:
        """Encode the columns of a frame.

        Parameters
        ----------
        X : DataFrame
            A frame with the columns seen in fit, of any library.

        Returns
        -------
        ndarray of shape (n_samples, n_encoded)
            Missing values are NaN. The code of a category that did not occur in fit, or is not
            among the most frequent ones, is the number of categories.

        Examples
        --------
        >>> import pandas as pd
        >>> from pairmend.frames import FrameEncoder
        >>> places = pd.DataFrame({"place": ["coast", "town", "coast"]})
        >>> encoder = FrameEncoder().fit(places)
        >>> encoder.transform(pd.DataFrame({"place": ["town", "moon", None]})).tolist()
        [[1.0], [2.0], [nan]]
        """
        return self.encode(X).values

    def encode(self, X: MatrixLike) -> arrays.EncodedFrame:
        """Encode the columns of a frame, together with a reference to this encoder.

        Parameters
        ----------
        X : DataFrame
            A frame with the columns seen in fit, of any library; an array if all columns are
            numbers.

        Returns
        -------
        EncodedFrame
            With the attributes ``values``, the result of `transform`, and ``encoder``.

        Examples
        --------
        >>> import pandas as pd
        >>> from pairmend.frames import FrameEncoder
        >>> places = pd.DataFrame({"place": ["coast", "town", "coast"]})
        >>> FrameEncoder().fit(places).encode(places).codes.tolist()
        [[0.0], [1.0], [0.0]]
        """
        if isinstance(X, arrays.EncodedFrame):
            return X
        check_is_fitted(self)
        X = arrays.TextTable(X) if arrays.is_texts(X) else X
        arrays.check_columns(self, X)
        if arrays.is_frame(X):
            columns = [read_column(X, place) for place in range(X.shape[1])]
        elif any(summary.kind not in ("number", "empty") for summary in self.columns_):
            raise ValueError(
                "FrameEncoder was fitted on a frame with columns that are not numbers; pass X as a "
                f"DataFrame with the same {self.n_features_in_} columns."
            )
        else:
            numbers = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
            columns = [Column(place, "numbers", cells) for place, cells in enumerate(numbers.T)]
        parts, words = [], []
        for reader, column in zip(self._readers, columns, strict=True):
            if getattr(reader, "projection", None) is None:
                parts.append(reader.read(column))
            else:
                words.append(reader.words(column))
                parts.append(reader.components(words[-1]))
        found = sparse.hstack(words, format="csr") if words else None
        return arrays.EncodedFrame(np.hstack(parts), self, found)

    def values_of(self, place: int) -> list[str]:
        """Return the categories of a column, or the words of a text, in the order of their codes.

        What a vectorizer gives no names to has numbers.

        Parameters
        ----------
        place : int
            Number of the column.

        Returns
        -------
        list of str
            Empty for columns of other kinds.

        Examples
        --------
        >>> import pandas as pd
        >>> from pairmend.frames import FrameEncoder
        >>> FrameEncoder().fit(pd.DataFrame({"place": ["town", "coast", "coast"]})).values_of(0)
        ['coast', 'town']
        """
        reader = self._readers[place]
        if hasattr(reader, "vectorizer"):
            try:
                return [str(word) for word in reader.vectorizer.get_feature_names_out()]
            except AttributeError:  # a pipeline has the method, but its steps may not
                return [f"{number}" for number in range(reader.n_words)]
        return list(getattr(reader, "keys", ()))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of str

        Examples
        --------
        >>> import pandas as pd
        >>> from pairmend.frames import FrameEncoder
        >>> frame = pd.DataFrame({"blue": [0.5, 2.0], "day": ["2024-05-17", "2024-05-18"]})
        >>> FrameEncoder().fit(frame).get_feature_names_out().tolist()
        ['blue', 'day_0', 'day_1', 'day_2', 'day_3', 'day_4']
        """
        check_is_fitted(self)
        names = []
        for source in range(len(self.columns_)):
            name, width = self.columns_[source].name, int(np.sum(self.source_ == source))
            names += [f"{name}"] if width == 1 else [f"{name}_{part}" for part in range(width)]
        return np.array(names, dtype=object)
