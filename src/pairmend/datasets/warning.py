"""ReadWarning: how a file was read where it can be read in several ways."""


class ReadWarning(UserWarning):
    """A file was read in one of several possible ways, which the message describes.

    Examples
    --------
    >>> import warnings
    >>> from pairmend.datasets import ReadWarning
    >>> warnings.simplefilter("error", ReadWarning)  # refuse files that need a guess
    >>> warnings.simplefilter("default", ReadWarning)
    """
