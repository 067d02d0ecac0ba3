"""What the generators are made of."""

import io
import stat

import numpy as np
import pytest
from ahmed_body import ahmed_body, ahmed_frontal_area
from draw_log import DrawLog
from draw_progress import DrawProgress
from fpe_shim import build_fpe_shim, with_preloaded
from generate_airfoils import BOUNDS as PROFILES
from generation import draw_parameters
from naca import naca_outline
from parametric_car import (
    BOUNDS,
    car_faces,
    car_rings,
    car_vertices,
    frontal_area,
    ring_points,
)
from solver_process import Processes
from xfoil import Xfoil

from tests.examples.aero.fake_solvers import write_xfoil

pytestmark = pytest.mark.backend("tensorflow")
AIRFOILS = {"a": (0.0, 1.0), "b": (2.0, 4.0), "c": (-1.0, 0.0)}


def middle():
    return np.mean(list(BOUNDS.values()), axis=1)


class TestDraws:
    def test_are_rows_of_one_table(self):
        low, high = np.transpose(list(AIRFOILS.values()))
        table = np.random.default_rng(3).uniform(low, high, (10, 3))
        for draw in (9, 0, 4):
            found = draw_parameters(AIRFOILS, 3, draw)
            np.testing.assert_array_equal(found, table[draw])

    def test_shipped_profiles_are_those_of_seed_0(self, load_aero):
        shipped = load_aero("airfoils")["naca_parameters"]
        for draw in (0, 1, 20, 999, 1999):
            found = draw_parameters(PROFILES, 0, draw)
            np.testing.assert_allclose(found, shipped[draw], rtol=1e-6)

    def test_needed_ones_are_the_first_that_may_do(self, tmp_path):
        log = DrawLog(tmp_path, "x", {})
        assert log.needed(2) == [0, 1]
        log.add(2, {"status": "hung", "parameters": {}, "tries": []}, None)
        log.add(0, {"status": "hung", "parameters": {}, "tries": []}, None)
        assert log.needed(3) == [1, 3, 4]
        assert log.counts() == {"ok": 0, "hung": 2}


class TestProfile:
    def test_symmetric_without_camber(self):
        outline = naca_outline(0.0, 0.4, 0.12)
        np.testing.assert_allclose(outline[:, 0], outline[::-1, 0], atol=1e-12)
        np.testing.assert_allclose(outline[:, 1], -outline[::-1, 1], atol=1e-12)
        # A 0012 is 6.0 % of the chord on each side, at 30 % of it.
        assert outline[:, 1].max() == pytest.approx(0.06, abs=1e-4)
        thickest = outline[outline[:, 1].argmax(), 0]
        assert thickest == pytest.approx(0.3, abs=0.02)

    def test_mean_line(self):
        outline = naca_outline(0.03, 0.5, 1e-9, 101)
        upper = outline[:101]
        assert upper[50] == pytest.approx([0.5, 0.03], abs=1e-8)
        np.testing.assert_allclose(upper, outline[100:][::-1], atol=1e-8)

    @pytest.mark.parametrize(
        "values",
        [(np.nan, 0.4, 0.1), (0.1, 0.0, 0.1), (0.1, 0.4, np.nan), (-0.1, 1, 1)],
    )
    def test_bad_parameters(self, values):
        with pytest.raises(ValueError, match="Received: camber="):
            naca_outline(*values)

    def test_xfoil_gets_no_nan(self, tmp_path):
        xfoil = Xfoil(Processes(), str(write_xfoil(tmp_path)))
        outline = naca_outline(0.0, 0.4, 0.12)
        outline[3, 1] = np.nan
        with pytest.raises(ValueError, match="Received: 1 of 322"):
            xfoil(outline, 1.0)


class TestShim:
    def test_what_a_compiler_says(self, tmp_path, monkeypatch):
        compiler = tmp_path / "cc"
        compiler.write_text("#!/bin/sh\necho no headers >&2\nexit 1\n")
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        with pytest.raises(RuntimeError, match="(?s)libc6-dev.*no headers"):
            build_fpe_shim(tmp_path)

    def test_what_is_preloaded_already_stays(self, monkeypatch):
        monkeypatch.setenv("LD_PRELOAD", "other.so")
        assert with_preloaded("a.so")["LD_PRELOAD"] == "a.so:other.so"
        assert with_preloaded(None)["LD_PRELOAD"] == "other.so"


class TestCar:
    def test_closed_and_its_faces_look_outwards(self):
        vertices, faces = car_vertices(middle()), car_faces()
        assert vertices.shape == (1602, 3) and faces.shape == (3200, 3)
        assert_closed_outwards(vertices, faces, above=5.0)

    def test_sides_mirror_each_other(self):
        vertices = car_vertices(middle())
        mirrored = vertices * [1, -1, 1]
        assert set(map(tuple, vertices.round(9) + 0.0)) == set(
            map(tuple, mirrored.round(9) + 0.0)
        )

    def test_size(self):
        vertices = car_vertices(middle())
        length, _, _ = np.ptp(vertices, axis=0)
        assert length == pytest.approx(4.2)
        assert vertices[:, 1].max() == pytest.approx(0.42 * 1.45 / 0.7)
        assert vertices[:, 2].min() == pytest.approx(0.19)
        assert 1.2 < vertices[:, 2].max() < 1.45 * 0.9

    def test_points_of_a_ring_are_equally_far_apart(self):
        across, up = ring_points(0.9, 0.5, 40)
        assert across[0] == 0.9 and across[10] == pytest.approx(0, abs=1e-9)
        steps = np.hypot(np.diff(across[5:16]), np.diff(up[5:16]))
        np.testing.assert_allclose(steps[:6], steps[0], rtol=1e-6)

    def test_frontal_area_of_one_box(self):
        rings = car_rings(middle())
        area = frontal_area(rings)
        box = 2 * rings.half_width.max() * (rings.top.max() - 0.19)
        corners = (4 - np.pi) * 0.14**2
        assert area == pytest.approx(box - corners, rel=2e-3)

    @pytest.mark.parametrize("bad", [np.nan, -0.1])
    def test_bad_parameters(self, bad):
        parameters = middle()
        parameters[4] = bad
        with pytest.raises(ValueError, match="9 positive numbers.*Received"):
            car_vertices(parameters)

    def test_shipped_bodies(self, load_aero):
        data = load_aero("cars")
        np.testing.assert_array_equal(car_faces(), data["faces"])
        for parameters, vertices in zip(
            data["parameters"], data["vertices"], strict=True
        ):
            found = car_vertices(parameters)
            far = np.abs(found - vertices).max(axis=1)
            # The first ring of some of these is folded in.
            assert far[:40].max() < 0.04
            assert far[40:].max() < 1e-4


class TestAhmedBody:
    def test_closed_and_its_faces_look_outwards(self):
        assert_closed_outwards(*ahmed_body(), above=6.0)

    def test_size(self):
        vertices, _ = ahmed_body()
        np.testing.assert_allclose(
            np.ptp(vertices, axis=0), [4 * 1.044, 4 * 0.389, 4 * 0.288]
        )
        assert ahmed_frontal_area() == pytest.approx(16 * 0.389 * 0.288)


def assert_closed_outwards(vertices, faces, above):
    """Each edge has two sides, and the volume is positive."""
    edges = np.concatenate(
        [faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]
    )
    one_way = {tuple(edge) for edge in edges}
    assert len(one_way) == len(edges)
    assert one_way == {(end, start) for start, end in one_way}
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 > above


class TestProgress:
    def log(self, folder, answers):
        log = DrawLog(folder, "x", {})
        for draw in range(answers):
            log.records[draw] = {"draw": draw, "status": "ok"}
        return log

    def test_a_line_for_each_tenth(self, tmp_path):
        stream = io.StringIO()
        log = self.log(tmp_path, 0)
        progress = DrawProgress("cars", 20, log, stream)
        for draw in range(20):
            log.records[draw] = {"draw": draw, "status": "ok"}
            progress.show()
        progress.close()
        first, *lines = stream.getvalue().splitlines()
        assert first == "cars: 20 to make"
        assert len(lines) == 10
        assert lines[-1].endswith("20/20, 0 failed") and "#" * 30 in lines[-1]
        assert "left" in lines[0]

    def test_one_line_on_a_terminal(self, tmp_path):
        stream = io.StringIO()
        stream.isatty = lambda: True
        log = self.log(tmp_path, 1)
        log.records[5] = {"draw": 5, "status": "hung"}
        progress = DrawProgress("cars", 4, log, stream)
        progress.show()
        progress.close()
        there, shown = stream.getvalue().split("\r\033[K")
        assert there == "cars: 4 to make, of which 1 are there\n"
        assert shown == f"cars [{'#' * 7}{'.' * 23}] 1/4, 1 failed\n"
