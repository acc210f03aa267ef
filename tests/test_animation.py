"""The walk through a tape as pictures: numbered SVG files, and an animated GIF."""

import sys
from io import BytesIO
from xml.etree import ElementTree

import pytest

from minigrad.tape.render import animation, style
from tests import tape_cases as cases

SVG = "{http://www.w3.org/2000/svg}"


def group(svg, name):
    """The group of a node in a picture, by the beginning of its title."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return next(g for g in groups if g.find(f"{SVG}title").text.startswith(name))


def test_there_is_a_picture_of_each_step_and_all_have_one_size(tmp_path):
    tape = cases.fan_in()

    paths = tape.save_steps(tmp_path / "slides")

    roots = [ElementTree.parse(path).getroot() for path in paths]
    assert [p.name for p in paths][:2] == ["step-00.svg", "step-01.svg"]
    assert len(paths) == len(tape.document["steps"]) + 1
    assert len({(r.get("width"), r.get("height")) for r in roots}) == 1
    last = [*roots[1].iter(f"{SVG}text")][-1].text
    assert last.startswith("1/6") and "mul#1 = x * x was computed" in last


def test_what_has_not_run_is_pale_and_the_current_box_has_a_thick_border(tmp_path):
    paths = cases.fan_in().save_steps(tmp_path, steps=[1, 4])
    first, fourth = (path.read_text(encoding="utf-8") for path in paths)

    assert group(first, "z,").get("opacity") == "0.25"
    assert group(first, "mul#1,").get("opacity") is None
    assert group(fourth, "z,").get("opacity") is None
    assert group(first, "mul#1,").findall(f"{SVG}rect")[-1].get("stroke") == style.FORWARD
    assert group(fourth, "z,").findall(f"{SVG}rect")[-1].get("stroke") == style.BACKWARD_INK


def test_a_gif_has_a_picture_of_each_step(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    tape = cases.no_gradient_yet()

    with Image.open(BytesIO(tape.save(tmp_path / "walk.gif").read_bytes())) as image:
        assert (image.format, image.n_frames) == ("GIF", 2)
        assert image.info["duration"] == 1200 and image.info["loop"] == 0


@pytest.mark.parametrize("steps", [2, ["a"], [0.5]])
def test_steps_that_are_no_whole_numbers_are_refused_with_an_example(tmp_path, steps):
    with pytest.raises(TypeError, match=r"whole numbers from 0 to \d+, such as range"):
        cases.fan_in().save_steps(tmp_path, steps=steps)


def test_without_matplotlib_and_for_too_many_steps_the_error_says_what_to_do(monkeypatch):
    found, long = cases.no_gradient_yet().shown(), cases.loop(150).shown()

    with pytest.raises(ValueError, match=r"at most 300 pictures.*save_steps"):
        animation.gif(long)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="PIL is not installed.*save_steps"):
        animation.gif(found)
