"""Programs that stand in for a solver, and do what a test says."""

import os
import subprocess
import sys

from tests.examples.scripts import EXAMPLES

# What it does goes by the height of the profile that it reads.
XFOIL = """#!{python} -S
import os, signal, subprocess, sys, time
commands = sys.stdin.read().splitlines()
bunching = [line[2:] for line in commands if line.startswith("P ")][0]
with open("a.dat") as file:
    points = [tuple(map(float, line.split())) for line in list(file)[1:]]
height = max(y for _, y in points) - min(y for _, y in points)
does = os.environ.get("FAKE_DOES", "")
if height < float(os.environ.get("FAKE_BELOW", "0")):
    if does == "hang":
        child = subprocess.Popen(["sleep", "600"])
        with open(os.environ["FAKE_CHILD"], "w") as file:
            file.write(str(child.pid))
        time.sleep(600)
    elif does.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, does))
    elif does == "exit":
        sys.exit(3)
time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
with open("n.txt", "w") as file:
    for x, y in points[:160]:
        file.write(f"{{x}} {{y}}\\n")
with open("cp.txt", "w") as file:
    file.write("#  x  Cp\\n")
    for x, y in points[:160]:
        file.write(f"{{x}} {{1 - x}}\\n")
with open("p.txt", "w") as file:
    file.write("  alpha    CL        CD       CDp       CM\\n")
    file.write("  ------ -------- --------- --------- --------\\n")
    alone = height < float(os.environ.get("FAKE_BELOW", "0"))
    if not alone or does == bunching or not does:
        file.write(f"0.0 {{height}} 0.01 0.001 -0.05 1 1\\n")
"""

FOAM = """#!{python} -S
import os, sys
name = os.path.basename(sys.argv[0])
assert os.environ["WM_PROJECT_DIR"]
assert os.path.exists("constant/triSurface/car.stl")
with open("ran.txt", "a") as file:
    file.write(name + "\\n")
does = os.environ.get("FAKE_DOES", "")
if does == name:
    sys.exit(1)
if name == "simpleFoam":
    with open("settings") as file:
        settings = dict(line.strip(";\\n").split(" ", 1) for line in file)
    num = int(settings["iterations"])
    last = "nan" if does == settings["relaxation"] else "0.25"
    os.makedirs("postProcessing/drag/0")
    os.makedirs(f"postProcessing/skin/{{num}}")
    with open("postProcessing/drag/0/coefficient.dat", "w") as file:
        file.write("# Time Cd\\n")
        for step in range(num):
            file.write(f"{{step}} {{last if step > 100 else 1}}\\n")
    with open(f"postProcessing/skin/{{num}}/p_car.raw", "w") as file:
        file.write("# x y z p\\n")
        file.write("0 0 0.2 450\\n4.2 0.5 0.5 -90\\n")
"""


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.format(python=sys.executable))
    path.chmod(0o755)
    return path


def write_xfoil(folder):
    return write_program(folder / "fake_xfoil", XFOIL)


def write_openfoam(folder):
    for name in ("blockMesh", "snappyHexMesh", "simpleFoam"):
        write_program(folder / name, FOAM)
    return folder


def start(script, *arguments, **variables):
    """A generator of the examples, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, EXAMPLES / "aero" / script, *map(str, arguments)],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script, *arguments, timeout=60, **variables):
    """Exit status and all that a generator prints."""
    process = start(script, *arguments, **variables)
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err
