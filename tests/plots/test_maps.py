import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from keras_zigzag import plots
from keras_zigzag.plots.palette import MISSING
from tests.plots.cases import SQUARE, TRIANGLES


class TestDecisionMap:
    X, Y = np.linspace(-2, 3, 6), np.linspace(-2, 2, 5)
    SCORE = np.arange(30.0).reshape(5, 6)

    @pytest.mark.parametrize("score", [SCORE, SCORE.ravel()])
    def test_values(self, score):
        ax = plots.decision_map(self.X, self.Y, score)
        np.testing.assert_array_equal(
            ax.collections[0].get_array().reshape(5, 6), self.SCORE
        )
        assert ax.get_xlim() == (-2, 3) and ax.get_ylim() == (-2, 2)
        assert ax.child_axes[0].get_ylabel() == "uncertainty"

    def test_not_finite_is_grey_and_counted(self, rendered):
        score = np.where(self.SCORE == 7.0, np.nan, self.SCORE)
        ax = rendered(plots.decision_map(self.X, self.Y, score))
        assert ax.collections[0].get_array().mask.sum() == 1
        note = ax.get_title(loc="right")
        assert note == "grey: 1 of 30 not finite, left out"

    @pytest.mark.parametrize("shape", [(30, 2), (30,)])
    def test_no_answer_is_no_class(self, shape, rendered):
        prediction = np.zeros(shape)
        prediction[7] = np.nan
        ax = plots.decision_map(
            self.X, self.Y, self.SCORE, prediction=prediction
        )
        assert rendered(ax).collections[0].get_array().mask.sum() == 1
        note = ax.get_title(loc="right")
        assert note == "grey: 1 of 30 not finite, left out"

    def test_points_by_class(self, rendered):
        points = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
        ax = plots.decision_map(
            self.X, self.Y, self.SCORE, points=points, labels=[0, 1, 0]
        )
        _, first, second = ax.collections
        np.testing.assert_array_equal(first.get_offsets(), points[[0, 2]])
        np.testing.assert_array_equal(second.get_offsets(), points[[1]])
        rendered(ax)

    def test_every_point_and_what_was_there_is_in_sight(self, rendered):
        points = np.array([[-4.0, 1.0], [0.0, 9.0], [np.nan, 0.0]])
        ax = plots.decision_map(self.X, self.Y, self.SCORE, points=points)
        assert ax.get_xlim() == (-4, 3) and ax.get_ylim() == (-2, 9)
        plots.decision_map(self.X, self.Y, self.SCORE, ax=ax)
        assert ax.get_xlim() == (-4, 3) and ax.get_ylim() == (-2, 9)
        rendered(ax)

    def test_a_second_call_keeps_the_limits(self):
        ax = plots.decision_map(self.X, self.Y, self.SCORE)
        plots.decision_map(self.X, self.Y, self.SCORE, ax=ax)
        assert ax.get_xlim() == (-2, 3) and ax.get_ylim() == (-2, 2)

    @pytest.mark.parametrize(
        "prediction",
        [
            np.tile([0, 0, 0, 1, 1, 1], (5, 1)),
            np.tile([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], (5, 1)),
            np.tile([[0.9, 0.1]] * 3 + [[0.1, 0.9]] * 3, (5, 1, 1)),
            np.tile([[0.9, 0.1]] * 3 + [[0.1, 0.9]] * 3, (5, 1)),
        ],
        ids=["classes", "binary", "probabilities", "flat"],
    )
    def test_boundary(self, prediction):
        ax = plots.decision_map(self.X, self.Y, self.SCORE, prediction)
        (path,) = ax.collections[1].get_paths()
        np.testing.assert_allclose(path.vertices[:, 0], 0.5)

    @pytest.mark.parametrize(
        "change, message",
        [
            ({"x": [0.0, 0.0]}, "rising order"),
            ({"y": [1.0]}, "two at least"),
            ({"uncertainty": np.zeros(29)}, "shape \\(29,\\)"),
            ({"uncertainty": np.full(30, np.inf)}, "none of them finite"),
            ({"prediction": np.zeros(29)}, "shape \\(29,\\)"),
            ({"points": np.zeros((2, 3))}, "shape \\(2, 3\\)"),
            ({"points": np.zeros((2, 2)), "labels": [0]}, "1 and 2"),
        ],
    )
    def test_bad_input(self, change, message):
        given = {"x": self.X, "y": self.Y, "uncertainty": self.SCORE}
        with pytest.raises(ValueError, match=message):
            plots.decision_map(**given | change)


class TestHeatMap:
    IMAGE = np.arange(20.0).reshape(4, 5) / 20
    CLASSES = np.arange(20).reshape(4, 5) % 3

    def arrays(self, ax):
        return [image.get_array() for image in ax.images]

    def test_values(self):
        ax = plots.heat_map(
            self.IMAGE,
            self.CLASSES,
            2 * self.IMAGE,
            truth=self.CLASSES[..., np.newaxis],
        )
        expected = [self.IMAGE, self.CLASSES, self.CLASSES, 2 * self.IMAGE]
        for given, drawn in zip(expected, self.arrays(ax), strict=True):
            np.testing.assert_array_equal(drawn, given)
        assert [text.get_text() for text in ax.texts] == [
            "image",
            "truth",
            "prediction",
            "uncertainty",
        ]

    def test_probabilities_show_the_most_probable_class(self):
        p = np.eye(3)[self.CLASSES]
        ax = plots.heat_map(self.IMAGE, p, self.IMAGE)
        np.testing.assert_array_equal(self.arrays(ax)[1], self.CLASSES)

    def test_no_answer_and_no_label_are_no_class(self, rendered):
        p = np.zeros((4, 4, 3))
        p[..., 1] = 1
        p[0, 0] = np.nan
        truth = np.ones((4, 4), int)
        truth[1, 1] = -1
        ax = plots.heat_map(np.zeros((4, 4)), p, np.ones((4, 4)), truth)
        _, label, answer, _ = rendered(ax).images
        for image, place in ((label, (1, 1)), (answer, (0, 0))):
            shown = image.get_array()
            assert shown.mask.sum() == 1 and shown.mask[place]
            grey = to_rgba(MISSING)
            np.testing.assert_allclose(
                image.cmap(image.norm(shown))[place], grey
            )
            assert (shown.compressed() == 1).all()
        assert label.get_clim() == (-0.5, 1.5)
        note = ax.get_title(loc="right")
        assert note == "grey: 1 of 16 not finite, left out"

    @pytest.mark.parametrize(
        "prediction, options",
        [
            (np.eye(3)[np.ones((4, 4), int)], {}),
            (np.ones((4, 4), int), {"ignore_class": 255}),
            (np.ones((4, 4)), {"ignore_class": 255}),
        ],
        ids=["probabilities", "classes", "values"],
    )
    def test_a_void_label_is_no_class(self, prediction, options, rendered):
        truth = np.ones((4, 4), "uint8")
        truth[1, 1] = 255
        maps = np.zeros((4, 4)), prediction, np.ones((4, 4)), truth
        ax = rendered(plots.heat_map(*maps, **options))
        _, label, answer, _ = ax.images
        assert label.get_array().mask.sum() == 1
        assert label.get_array().mask[1, 1]
        assert not answer.get_array().mask.any()
        assert label.get_clim()[1] <= 1.5
        assert ax.get_title(loc="right") == ""

    def test_no_label_of_a_class(self, rendered):
        void = np.full((4, 4), -1)
        maps = np.zeros((4, 4)), void, np.ones((4, 4)), void
        for image in rendered(plots.heat_map(*maps)).images[1:3]:
            assert image.get_array().mask.all()

    def test_ignore_class_is_an_integer(self):
        with pytest.raises(ValueError, match="ignore_class=0.5"):
            plots.heat_map(
                self.IMAGE, self.CLASSES, self.IMAGE, ignore_class=0.5
            )

    def test_values_of_a_regression(self, rendered):
        ax = plots.heat_map(
            self.IMAGE, self.IMAGE[..., np.newaxis] * 7, self.IMAGE
        )
        np.testing.assert_array_equal(self.arrays(ax)[1], self.IMAGE * 7)
        rendered(ax)

    def test_many_classes_have_colours_of_their_own(self, rendered):
        classes = np.arange(20).reshape(4, 5)
        ax = rendered(plots.heat_map(self.IMAGE, classes, self.IMAGE))
        colors = ax.images[1].cmap(ax.images[1].norm(classes.ravel()))
        assert len(np.unique(colors, axis=0)) >= 19

    def test_not_finite_is_grey_and_counted(self, rendered):
        score, value = self.IMAGE.copy(), self.IMAGE.copy()
        score[0, 0] = value[1, 0] = np.inf
        ax = rendered(plots.heat_map(self.IMAGE, value, score))
        assert [a.mask.sum() for a in self.arrays(ax)[1:]] == [1, 1]
        note = ax.get_title(loc="right")
        assert note == "grey: 2 of 20 not finite, left out"

    @pytest.mark.parametrize("which", ["prediction", "uncertainty", "truth"])
    def test_bad_input(self, which):
        given = dict.fromkeys(
            ["image", "prediction", "uncertainty"], self.IMAGE
        )
        with pytest.raises(ValueError, match=f"`{which}`.*shape \\(5, 4\\)"):
            plots.heat_map(**given | {which: self.IMAGE.T})

    def test_nothing_to_draw(self):
        with pytest.raises(ValueError, match="none of them finite"):
            plots.heat_map(
                self.IMAGE, self.CLASSES, np.full_like(self.IMAGE, np.nan)
            )


class TestMeshHeatMap:
    SCORE = [0.1, 0.2, 0.3, 0.4]
    CUBE = [[*point, 0.5] for point in SQUARE]

    def test_in_the_plane(self):
        ax = plots.mesh_heat_map(SQUARE, TRIANGLES, self.SCORE)
        np.testing.assert_array_equal(ax.collections[0].get_array(), self.SCORE)
        assert ax.child_axes[0].get_ylabel() == "uncertainty"

    def test_in_space(self, rendered):
        ax = plots.mesh_heat_map(self.CUBE, TRIANGLES, self.SCORE, label="u")
        rendered(ax)
        colors = ax.collections[0].get_facecolor()
        assert len(np.unique(colors, axis=0)) == 2
        assert ax.child_axes[0].get_ylabel() == "u"

    @pytest.mark.parametrize("vertices", [SQUARE, CUBE])
    def test_not_finite_is_grey_and_counted(self, vertices, rendered):
        score = [np.nan, 0.2, 0.3, 0.4]
        ax = rendered(plots.mesh_heat_map(vertices, TRIANGLES, score))
        note = ax.get_title(loc="right")
        assert note == "grey: 1 of 4 not finite, left out"
        rgba = ax.collections[0].get_facecolor()
        grey = int(MISSING[1:3], 16) / 255
        assert np.isclose(rgba[:, :3], grey).all(axis=-1).sum() == 1

    def test_no_triangle_with_three_values(self, rendered):
        score = [np.nan, 1.0, 1.0, 2.0]
        ax = plots.mesh_heat_map(SQUARE, TRIANGLES[:1], score)
        assert rendered(ax).get_title(loc="right").startswith("grey: 1 of 4")

    def test_the_axes_must_have_as_many_dimensions(self):
        figure = plt.figure()
        flat = figure.add_subplot(1, 2, 1)
        space = figure.add_subplot(1, 2, 2, projection="3d")
        plots.mesh_heat_map(self.CUBE, TRIANGLES, self.SCORE, ax=space)
        with pytest.raises(ValueError, match="projection='3d'"):
            plots.mesh_heat_map(self.CUBE, TRIANGLES, self.SCORE, ax=flat)
        plt.close(figure)

    @pytest.mark.parametrize(
        "vertices, triangles, score, message",
        [
            ([[0.0], [1.0]], TRIANGLES, SCORE, "shape \\(2, 1\\)"),
            (SQUARE, [[0, 1]], SCORE, "shape \\(1, 2\\)"),
            (SQUARE, [[0, 1, 4]], SCORE, "from 0 to 4"),
            (SQUARE, [[0.0, 1.0, 2.0]], SCORE, "float64"),
            (SQUARE, TRIANGLES, SCORE[:3], "shape \\(3,\\)"),
            (SQUARE, TRIANGLES, [np.nan] * 4, "none of them finite"),
        ],
    )
    def test_bad_input(self, vertices, triangles, score, message):
        with pytest.raises(ValueError, match=message):
            plots.mesh_heat_map(vertices, triangles, score)
