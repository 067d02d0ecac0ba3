"""Keeps gfortran programs from dying of floating-point exceptions.

Debian's XFOIL asks gfortran's library to trap them, and dies with SIGFPE in
viscous runs, where it would go on well with an infinity that nobody reads. A
function of the same name that does nothing is loaded before the library's.
"""

import os
import shutil
import subprocess

COMPILERS = ("cc", "gcc", "clang", "tcc")
SOURCE = "void _gfortran_set_fpe(int exceptions) { (void) exceptions; }\n"


def build_fpe_shim(folder):
    """Compiles the function in a folder, and returns the library's path.

    Returns:
        Path, or `None` where there is no C compiler.

    Raises:
        RuntimeError: If the compiler that was found does not succeed.
    """
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        return None
    source, library = folder / "fpe_shim.c", folder / "fpe_shim.so"
    source.write_text(SOURCE)
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source)]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode != 0:
        raise RuntimeError(
            f"`{' '.join(command)}` did not succeed; XFOIL needs the library "
            "that it makes. Install a C compiler that does, as Debian's "
            f"package gcc with libc6-dev. It printed: {finished.stderr}"
        )
    return library.resolve()


def with_preloaded(library):
    """This process's environment, with a library that is loaded first."""
    if library is None:
        return dict(os.environ)
    before = os.environ.get("LD_PRELOAD")
    libraries = [str(library), before] if before else [str(library)]
    return os.environ | {"LD_PRELOAD": ":".join(libraries)}
