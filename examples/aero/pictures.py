"""Airfoils and cars with what ZigZag says of them, and a file for ParaView.

    KERAS_ZIGZAG_AERO_DIR=aero python examples/aero/pictures.py --quick

Trains ZigZag once for each picture: `profiles.png`, known airfoils and unseen
ones; `lift_to_drag.png`, predicted against true; `car.png` and `car.vtu`, the
unseen car of the highest drag, with its pressure, the error of the predicted
one, and the uncertainty at each vertex.
"""

import argparse
import tempfile
from pathlib import Path

import keras
import meshio
import numpy as np
from matplotlib.figure import Figure
from shapes import load_arrays, upper_part

import keras_zigzag as kz
from keras_zigzag.benchmark import Variant
from keras_zigzag.benchmark.protocol_files import load_file
from keras_zigzag.benchmark.recipes import Recipe
from keras_zigzag.benchmark.training import EpochBackup, train

PROTOCOLS = Path(__file__).parents[1] / "protocols"
METHOD = "ZigZagModel"
SEED = 0
NUM_PROFILES = 5
VIEW = {"elev": 25, "azim": -60}
PANEL = (4.2, 3.0)  # inches
PROFILE = (4.2, 1.1)


def trained(name, quick):
    """The protocol, its data, and a ZigZag model that has learnt them."""
    (protocol,) = load_file(PROTOCOLS / f"{name}.py")(quick)
    data = protocol.load(SEED)
    keras.utils.set_random_seed(SEED)
    # Without what a protocol says of it: each vertex has its uncertainty.
    recipe = Recipe(protocol, Variant(METHOD))
    model = recipe.trainee(data)
    with tempfile.TemporaryDirectory() as folder:
        backup = EpochBackup(Path(folder) / "backup.npz", name)
        train(model, data.train, protocol.training, SEED, backup)
    print(f"{name}: {protocol.settings['size']}; trained.", flush=True)
    return protocol, data, recipe.finished(model, data)


def draw_profiles():
    """Known airfoils beside unseen ones, with their lift-to-drag ratios."""
    arrays = load_arrays("airfoils", ["nodes", "lift_to_drag"])
    ratio = arrays["lift_to_drag"]
    (protocol,) = load_file(PROTOCOLS / "airfoils.py")(False)
    upper = upper_part(ratio, protocol.settings["ood_fraction"])
    figure, axes = panels(NUM_PROFILES, 2, PROFILE)
    for row, (kind, chosen) in zip(
        axes.T, {"known": ~upper, "unseen": upper}.items(), strict=True
    ):
        # From the lowest to the highest ratio.
        order = np.flatnonzero(chosen)[np.argsort(ratio[chosen])]
        picked = order[np.linspace(0, len(order) - 1, NUM_PROFILES, dtype=int)]
        for ax, index in zip(row, picked, strict=True):
            ax.plot(*arrays["nodes"][index].T, linewidth=1)
            ax.set_aspect("equal")
            ax.set_axis_off()
            ax.set_title(f"{kind}, L/D = {ratio[index]:.1f}", fontsize="small")
    return figure


def draw_lift_to_drag(quick):
    """Predicted against true ratios, coloured by the uncertainty."""
    protocol, data, model = trained("airfoils", quick)
    unit = protocol.settings["unit"]
    unseen = unseen_targets(protocol)
    figure, axes = panels(1, 2)
    sets = {"known": data.test, "unseen": (data.ood["upper"], unseen)}
    answers = {
        name: model.predict(x, verbose=0) for name, (x, _) in sets.items()
    }
    highest = max(out["uncertainty"].max() for out in answers.values())
    for ax, (name, out) in zip(axes[0], answers.items(), strict=True):
        true = sets[name][1][:, 0] * unit
        points = ax.scatter(
            true,
            out["prediction"][:, 0] * unit,
            c=out["uncertainty"] * unit,
            s=8,
            vmin=0,
            vmax=highest * unit,
        )
        ax.axline((0, 0), slope=1, color="grey", lw=0.8)
        ax.set(title=f"{name} airfoils", xlabel="true lift-to-drag ratio")
    axes[0, 0].set_ylabel("predicted")
    limits = ax.get_xlim()[1]
    for ax in axes[0]:
        ax.set(xlim=(-5, limits), ylim=(-5, limits))
    figure.colorbar(points, ax=axes[0], label="uncertainty")
    return figure


def unseen_targets(protocol):
    """The targets of the OOD set, which only a picture asks for."""
    ratio = load_arrays("airfoils", ["lift_to_drag"])["lift_to_drag"]
    upper = upper_part(ratio, protocol.settings["ood_fraction"])
    return ratio[upper][:, None] / protocol.settings["unit"]


def car_of_the_highest_drag(quick):
    """Vertices, faces and values per vertex of an unseen car."""
    protocol, data, model = trained("cars_pressure", quick)
    keys = ["vertices", "faces", "drag_coefficient", "pressure_coefficient"]
    arrays = load_arrays("cars", keys)
    drag = arrays["drag_coefficient"]
    upper = np.flatnonzero(upper_part(drag, protocol.settings["ood_fraction"]))
    place = int(np.argmax(drag[upper]))
    out = model.predict(data.ood["upper"][place][None], verbose=0)
    predicted = out["prediction"][0, :, 0]
    true = arrays["pressure_coefficient"][upper[place]]
    values = {
        "pressure": true,
        "predicted pressure": predicted,
        "error": np.abs(predicted - true),
        "uncertainty": out["uncertainty"][0],
    }
    return arrays["vertices"][upper[place]], arrays["faces"], values


def draw_car(vertices, faces, values):
    """One view of a car for each value at its vertices."""
    figure, axes = panels(2, 2, projection="3d")
    for ax, (name, value) in zip(axes.flat, values.items(), strict=True):
        kz.plots.mesh_heat_map(vertices, faces, value, label=name, ax=ax)
        ax.view_init(**VIEW)
        ax.set_title(name)
    return figure


def write_mesh(path, vertices, faces, values):
    """A file of VTK, with a value at each vertex under its name."""
    mesh = meshio.Mesh(vertices, {"triangle": faces}, point_data=values)
    mesh.write(path)


def panels(num_rows, num_columns, panel=PANEL, **subplot):
    size = (panel[0] * num_columns, panel[1] * num_rows)
    figure = Figure(figsize=size, dpi=100, layout="constrained")
    axes = figure.subplots(
        num_rows, num_columns, squeeze=False, subplot_kw=subplot
    )
    return figure, axes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small networks")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    draw_profiles().savefig(args.out / "profiles.png")
    draw_lift_to_drag(args.quick).savefig(args.out / "lift_to_drag.png")
    vertices, faces, values = car_of_the_highest_drag(args.quick)
    draw_car(vertices, faces, values).savefig(args.out / "car.png")
    write_mesh(args.out / "car.vtu", vertices, faces, values)
    print(f"The pictures are in {args.out}.")


if __name__ == "__main__":
    main()
