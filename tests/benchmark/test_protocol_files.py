"""Experiments by the names of their files and parts."""

from pathlib import Path

import pytest

from keras_zigzag.benchmark import protocol_files
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.protocol_files import find_protocols
from tests.benchmark import tiny_protocol

FILE = """
from tests.benchmark import tiny_protocol

def protocols(quick):
    names = {names}
    groups = [name[:4] + "-parts" if "-" in name else "" for name in names]
    return [
        tiny_protocol.make(name=name, epochs=1, group=group)
        for name, group in zip(names, groups)
    ]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    files = {
        "pond": '["pond-small", "pond-large"]',
        "lake": '["lake", "lake-deep"]',
    }
    for name, names in files.items():
        text = FILE.format(names=names)
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "water.py").write_text("DEPTH = 1\n")
    monkeypatch.setattr(protocol_files, "protocol_folders", lambda: [tmp_path])
    return tmp_path


def names_of(name):
    return [protocol.name for protocol in find_protocols(name)(False)]


def test_a_name_is_a_file_or_a_part_of_it(folder):
    assert names_of("pond") == ["pond-small", "pond-large"]
    assert names_of("pond-small") == ["pond-small"]
    assert names_of("lake") == ["lake"]
    assert names_of("lake-deep") == ["lake-deep"]
    assert names_of("pond-parts") == ["pond-small", "pond-large"]
    assert names_of("lake-parts") == ["lake-deep"]
    assert names_of(str(folder / "lake.py")) == ["lake", "lake-deep"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sea", r"Expected one of \['lake', 'pond'\].*Received: 'sea'"),
        ("pond-huge", r"\['pond-small', 'pond-large'\].*'pond-huge'"),
        ("pond-huge", r"or of the groups \['pond-parts'\]"),
        ("no/such.py", "no such file"),
    ],
)
def test_unknown_names(folder, name, message):
    with pytest.raises(ValueError, match=message):
        names_of(name)


def test_a_file_without_protocols_is_refused(folder):
    with pytest.raises(ValueError, match="has a function `protocols"):
        names_of(str(folder / "water.py"))


def test_list_shows_all_and_what_is_missing(folder, capsys):
    (folder / "far.py").write_text(
        "def protocols(quick):\n    raise FileNotFoundError('no folder x')\n"
    )
    assert main(arguments=["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "far: not here. no folder x"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "lake",
        "lake-deep",
        "pond-small",
        "pond-large",
    ]
    assert "(classification, 12 methods, 1 epochs of batches of" in lines[1]
    assert "(group lake-parts, classification, 12 methods" in lines[2]


def test_list_goes_on_after_a_file_that_is_broken(folder, capsys):
    (folder / "far.py").write_text("x = y\ndef protocols(quick):\n    pass\n")
    assert main(arguments=["list"]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first == "far: broken. NameError: name 'y' is not defined"
    assert second.startswith("lake:")


def test_run_and_report_as_commands(folder, tmp_path, capsys):
    out = tmp_path / "results"
    arguments = ["run", "lake", "--methods", "SingleModel", "--seeds", "1"]
    assert main(arguments=[*arguments, "--out", str(out)]) == 0
    assert main(arguments=["report", str(out)]) == 0
    page = (out / "report" / "report.md").read_text()
    assert "SingleModel" in page
    assert str(out) in capsys.readouterr().out


def test_the_real_ones_are_found():
    assert "digits" in protocol_files.protocol_files()
    (protocol,) = find_protocols("digits")(True)
    assert (
        protocol.training.epochs
        < find_protocols("digits")(False)[0].training.epochs
    )
    assert Path(tiny_protocol.__file__).is_file()
