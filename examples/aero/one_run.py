"""One run at a time in a folder."""

import contextlib

try:
    import fcntl
except ImportError:
    fcntl = None


@contextlib.contextmanager
def only_run(folder, name):
    """Keeps other runs out of a data set, where the system has locks.

    The lock of a run that is killed goes with it.

    Raises:
        RuntimeError: If another run is in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.lock", "w") as file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"Another run makes {name} in {folder}. Wait for it, or take "
                "another folder with --out."
            ) from None
        yield
