"""The published losses, typed in, so that their golden values need no other file."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

CRITERIA = ["hamming", "macro_f1", "micro_f1", "zero_one"]
ALGORITHMS = ["LPW", "FCM", "FCM-W", "FCM-O"]

# Trajdos and Kurzynski, table of full results, in thousandths: a row per set, 1 to 29, and for each
# criterion of CRITERIA the four ALGORITHMS.
THOUSANDTHS = """
 484  452  578  453 |  817  824  846  825 |  802  794  831  794 | 1000 1000 1000 1000
 167  167  157  167 |  980  980  979  980 |  881  880  890  880 |  995  995  922  995
 487  478  485  481 |  852  847  849  847 |  845  838  840  838 | 1000 1000 1000 1000
 143  136  136  136 |  991  993  993  993 |  938  954  954  954 |  895  791  791  791
 149  137  137  136 |  990  994  994  994 |  930  961  961  961 |  943  744  744  741
 308  306  313  311 |  368  362  358  360 |  366  364  364  363 |  895  902  923  907
 399  223  224  223 |  877  898  898  898 |  826  905  908  905 | 1000  991  991  991
 289  304  321  309 |  506  464  449  424 |  299  307  323  295 |  917  916  922  915
 563  502  489  509 |  766  820  809  853 |  802  799  808  804 |  966  954  960  960
 474  593  597  576 |  723  715  783  748 |  790  815  819  811 |  918  982  985  974
  89   54   54   54 |  720  749  749  749 |  984  976  976  976 | 1000  988  988  988
 427  420  434  441 |  800  811  736  763 |  720  719  711  714 | 1000 1000 1000  995
 139  135  139  135 |  994  994  992  994 |  983  982  983  982 |  710  710  710  710
 409  450  488  451 |  839  838  822  838 |  730  740  767  741 | 1000 1000 1000 1000
 478  381  399  382 |  873  885  886  885 |  790  804  818  804 | 1000 1000 1000 1000
 479  400  422  401 |  873  883  891  883 |  790  807  830  807 | 1000 1000 1000 1000
 120   59   59   59 |  607  610  610  610 |  939  938  937  938 | 1000  995  992  995
 351  354  343  353 |  473  451  452  447 |  479  467  460  463 |  945  949  937  947
 404  408  519  407 |  816  812  801  811 |  727  727  768  727 | 1000 1000 1000 1000
 171  163  174  149 |  979  980  974  975 |  938  943  941  942 |  808  789  801  787
 151  105  105  105 |  981  996  996  996 |  923  961  961  961 |  897  845  845  845
 323  315  315  316 |  467  454  455  454 |  488  478  477  478 |  984  957  958  958
 374  351  343  353 |  577  564  568  565 |  583  572  570  573 |  999  999  999  999
 329  312  333  329 |  753  820  766  805 |  585  595  591  592 |  988  985  987  988
  59   81  105   81 |  868  866  870  866 |  992  986  982  986 |  996  991  990  991
 407  322  327  322 |  715  793  784  793 |  678  667  673  668 | 1000  979  982  979
 399  318  325  319 |  723  790  780  790 |  672  667  674  667 | 1000  972  976  972
 372  373  365  376 |  550  608  561  595 |  439  446  435  442 |  999  999  998  999
 296  307  247  328 |  587  622  573  623 |  376  384  357  395 |  988  994  933  995
"""


@pytest.fixture(scope="session")
def thousandths() -> dict[str, pd.DataFrame]:
    """The published losses by criterion, as whole numbers: no rounding error in them."""
    rows = [line.split("|") for line in THOUSANDTHS.strip().splitlines()]
    return {
        criterion: pd.DataFrame(
            [[int(cell) for cell in row[i].split()] for row in rows],
            index=pd.RangeIndex(1, 30, name="set"),
            columns=ALGORITHMS,
        )
        for i, criterion in enumerate(CRITERIA)
    }


@pytest.fixture(scope="session")
def published(thousandths) -> dict[str, pd.DataFrame]:
    """The published losses by criterion, as printed."""
    return {criterion: table / 1000 for criterion, table in thousandths.items()}


@pytest.fixture(scope="session")
def loss_tables():
    """Tables of 3 to 6 algorithms on 2 to 12 sets, with many ties."""
    shapes = st.tuples(st.integers(2, 12), st.integers(3, 6))
    return arrays(np.int64, shapes, elements=st.integers(0, 8))
