"""How much memory this process has had, where the system tells."""

from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Forget the most memory there was, so that the next reading is of what follows."""
    try:
        CLEAR.write_text("5")  # Linux alone can: see proc(5)
    except OSError:
        return


def peak_bytes() -> int | None:
    """Return the most resident memory since the last reset, None where it is not told."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks and CLEAR.exists() else None
