"""Files: what was saved comes back, and nothing in a file is ever run."""

import copy
import gzip
import io
import operator
import pickle
import zipfile
from collections import Counter, OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad
from minigrad import tensor


def saved_and_loaded(obj):
    file = io.BytesIO()
    minigrad.save(obj, file)
    file.seek(0)
    return minigrad.load(file)


@pytest.mark.parametrize(
    "obj",
    [
        None,
        True,
        3,
        2.5,
        float("inf"),
        "text",
        [1, "a"],
        (1, (2, 3)),
        {"a": {1: None}},
        {},
        OrderedDict(b=1, a=2),
        {("k", 1): [()]},
        {1, 2},
        b"text",
        3j,
        Counter("aab"),
        minigrad.Size([2, 3]),
        minigrad.device("cpu"),
    ],
    ids=str,
)
def test_plain_objects_come_back_as_they_were(obj):
    z = saved_and_loaded(obj)

    assert z == obj and type(z) is type(obj)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int64", "uint8", "bool", "complex64"]
)
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)], ids=str)
def test_tensors_keep_shape_and_type(dtype, shape):
    x = minigrad.ones(shape).to(np.dtype(dtype))

    z = saved_and_loaded({"x": x})["x"]

    assert z.dtype == x.dtype and z.shape == x.shape and minigrad.equal(z, x)


def test_tied_weights_are_tied_after_loading():
    first, second = minigrad.nn.Linear(2, 2), minigrad.nn.Linear(2, 2)
    second.weight = first.weight

    z = saved_and_loaded(minigrad.nn.Sequential(first, second).state_dict())
    z["0.weight"].fill_(3)

    assert minigrad.equal(z["1.weight"], z["0.weight"])


def test_a_leaf_still_requires_its_gradient():
    z = saved_and_loaded([tensor([1.0], requires_grad=True), tensor([2.0])])

    assert [x.requires_grad for x in z] == [True, False]
    assert z[0].is_leaf


def test_a_tensor_saved_twice_is_one_tensor():
    x = tensor([1.0])

    a, b = saved_and_loaded([x, x])

    assert a is b


def test_a_view_is_saved_alone():
    z = saved_and_loaded(minigrad.arange(1000)[3:5])

    assert z.tolist() == [3, 4] and z._base is None


def test_files_are_named_as_asked(tmp_path):
    path = tmp_path / "model.pt"

    minigrad.save({"w": tensor([1.0])}, path)

    assert minigrad.load(str(path), map_location="cpu", weights_only=True)["w"].tolist() == [1.0]
    assert list(np.load(path).files) == ["array_0", "structure"]


def test_what_cannot_be_saved_is_named():
    with pytest.raises(TypeError, match=r"\['a'\]\[1\] is a function"):
        minigrad.save({"a": [1, print and (lambda: 0)]}, io.BytesIO())


def test_a_file_must_be_a_name_or_open():
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
        minigrad.save("x.pt", minigrad.ones(2))
    with pytest.raises(AttributeError, match="'seek'"):
        minigrad.load(minigrad.ones(2))


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "old"
    minigrad.save(1, path)

    with pytest.raises(TypeError):
        minigrad.save(lambda: 0, path)

    assert minigrad.load(path) == 1


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("the file was run",))


@pytest.mark.parametrize("content", [pickle.dumps(Trap()), b"PK\x03\x04 no archive", b"text"])
def test_other_files_are_refused_and_not_run(content, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)

    with pytest.raises(RuntimeError, match="was not written by minigrad.save"):
        minigrad.load(path)


def test_a_file_of_pytorch_is_recognized(tmp_path):
    path = tmp_path / "file.pt"
    with zipfile.ZipFile(path, "w") as archive:  # as torch.save writes it
        archive.writestr("file/data.pkl", pickle.dumps({}))

    with pytest.raises(RuntimeError, match=r"written by torch.save. To convert it, run"):
        minigrad.load(path)


def test_a_file_that_is_still_open_can_be_read_under_its_name(tmp_path):
    with open(tmp_path / "weights.pt", "wb") as file:
        minigrad.save({"w": tensor([1.0])}, file)

        assert minigrad.load(tmp_path / "weights.pt")["w"].item() == 1


@pytest.mark.parametrize("needed", ["read", "seek", "tell"])
def test_a_file_that_cannot_be_searched_is_refused_with_a_remedy(needed):
    file = SimpleNamespace(
        **{n: getattr(io.BytesIO(b"ab"), n) for n in ("read", "seek", "tell") if n != needed}
    )

    with pytest.raises(
        AttributeError, match=f"{needed}.*pre-load the data into a buffer like io.BytesIO"
    ):
        minigrad.load(file)


def test_an_empty_file_ends_too_early():
    with pytest.raises(EOFError):
        minigrad.load(io.BytesIO())


def test_pickles_inside_an_archive_are_not_run():
    file = io.BytesIO()
    np.savez(file, structure=np.array([Trap()], object))
    file.seek(0)

    with pytest.raises(RuntimeError, match="not written by"):
        minigrad.load(file)


@pytest.mark.parametrize(
    "name",
    [
        "tanh",
        "add",
        "max",
        "abs_",
        "clip",
        "absolute",
        "zeros",
        "special.expit",
        "nn.functional.relu",
        "linalg.norm",
        "Tensor.exp",
        "Tensor.softmax",
        "Tensor.index_add_",
        "Tensor.backward",
        "nn.Module.parameters",
    ],
)
def test_a_function_can_be_pickled_as_the_attribute_of_a_module(name):
    function = operator.attrgetter(name)(minigrad)

    assert pickle.loads(pickle.dumps(function)) is function


def test_the_settings_of_pytorchs_files_are_accepted(tmp_path):
    path = tmp_path / "file"

    minigrad.save({"w": minigrad.ones(2)}, path, _use_new_zipfile_serialization=False)

    assert minigrad.load(path, mmap=True)["w"].tolist() == [1, 1]


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_parameter_comes_back_as_a_parameter(requires_grad):
    w = minigrad.nn.Parameter(tensor([1.0, 2.0]), requires_grad=requires_grad)

    a, b, c = saved_and_loaded([w, w, w.detach()])

    assert a is b and type(a) is minigrad.nn.Parameter and a.requires_grad == requires_grad
    assert type(c) is minigrad.Tensor and a.tolist() == c.tolist() == [1.0, 2.0]


def test_a_compressed_file_can_be_written():
    file = io.BytesIO()
    with gzip.open(file, "wb") as f:
        minigrad.save({"w": tensor([1.0, 2.0])}, f)
    file.seek(0)

    with gzip.open(file, "rb") as f:
        assert minigrad.load(f)["w"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "kind", [minigrad.tensor, lambda x: minigrad.nn.Parameter(minigrad.tensor(x))]
)
def test_attributes_that_a_program_gave_to_a_tensor_are_pickled_and_copied(kind):
    x = kind([1.0])
    x.group = {"lr": 0.1}

    assert pickle.loads(pickle.dumps([x]))[0].group == copy.copy(x).group == {"lr": 0.1}
