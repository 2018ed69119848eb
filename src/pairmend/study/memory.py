"""Peak memory of this process, on Linux."""

from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Reset the peak, so that the next reading covers the time from here on."""
    try:
        CLEAR.write_bytes(b"5")  # see proc(5)
    except OSError:
        return


def peak_bytes() -> int | None:
    """Return the peak of resident memory since the last reset, None where it is not available."""
    try:
        lines = STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks and CLEAR.exists() else None
