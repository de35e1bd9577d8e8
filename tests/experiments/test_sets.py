"""Loaders, on tiny files of the same layout: whole, missing, cut short, of another version."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments.sets import (
    MissingData,
    OtherVersion,
    Source,
    cifar10,
    data_folder,
    is_known,
    load_cifar10,
    load_corel5k,
    load_flickr8k,
    load_mnist,
    load_tmbud,
    mnist,
)
from experiments.sets.pictures import ArrayPictures, EncodedPictures
from likewise.types import DataProblem, LikewiseError

LOADERS = [load_mnist, load_cifar10, load_corel5k, load_flickr8k, load_tmbud]
FILES = ["mnist.npz", "cifar10.npz", "corel5k.zip", "flickr8k.zip", "tmbud.zip"]
other_version = pytest.mark.filterwarnings("ignore::experiments.sets.OtherVersion")


def jpeg(grey: int, size: tuple[int, int] = (12, 8), mode: str = "RGB") -> bytes:
    data = io.BytesIO()
    Image.new(mode, size, grey if mode == "L" else (grey,) * 3).save(data, "JPEG", quality=95)
    return data.getvalue()


def write_zip(path: Path, members: dict[str, bytes | str]) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


def corel_members() -> dict[str, bytes | str]:
    return {
        "images/1.jpg": jpeg(10),
        "images/2.jpg": jpeg(200, mode="L"),
        "labels.csv": "file,split,category,keywords,width,height\n"
        "images/1.jpg,train,7,sun|sea,12,8\nimages/2.jpg,test,3,tree,12,8\n",
    }


def flickr_members() -> dict[str, bytes | str]:
    head = "file,split," + ",".join(f"caption{i}" for i in range(1, 6)) + ",width,height\n"
    return {
        "images/a.jpg": jpeg(10),
        "images/b.jpg": jpeg(200),
        "labels.csv": head
        + 'images/a.jpg,train,"A dog , running .",a2,a3,a4,a5,12,8\n'
        + "images/b.jpg,,b1,b2,b3,b4,b5,12,8\n",
        "text/ExpertAnnotations.txt": "a.jpg\tb.jpg#2\t1\t1\t2\nb.jpg\tb.jpg#2\t4\t4\t3\n",
        "text/CrowdFlowerAnnotations.txt": "a.jpg\ta.jpg#0\t0.333\t1\t2\nb.jpg\tb.jpg#0\t1\t4\t0\n",
    }


def tmbud_members() -> dict[str, bytes | str]:
    head = "file,building_id,building,condition,quality,split_3_N,split_3_2,split_night\n"
    return {
        **{f"images/{i}.jpg": jpeg(40 * i) for i in range(5)},
        "labels.csv": head
        + "images/0.jpg,0,Castle,NIGHT,GOOD,TEST,None,TRAIN\n"
        + "images/1.jpg,9,Castle,DAY,BAD,TRAIN,TRAIN,None\n"
        + "images/2.jpg,4,Opera,DAY,GOOD,TRAIN,TEST,None\n"
        + "images/3.jpg,4,,,,,,\n"
        + "images/4.jpg,5,,,,,,\n",
    }


def write_mnist(path: Path) -> np.ndarray:
    images = np.arange(3 * 28 * 28, dtype=np.uint32).reshape(3, 28, 28).astype(np.uint8)
    is_test = np.array([False, False, True])
    np.savez_compressed(path, images=images, labels=np.array([3, 1, 4], np.uint8), is_test=is_test)
    return images


def write_cifar(path: Path) -> None:
    pieces = [jpeg(v, (32, 32)) for v in (0, 90, 255)]
    np.savez_compressed(
        path,
        jpeg=np.frombuffer(b"".join(pieces), np.uint8),
        offsets=np.cumsum([0, *map(len, pieces)]),
        labels=np.array([0, 9, 2], np.uint8),
        is_test=np.array([0, 0, 1], np.uint8),
        class_names=np.array(cifar10.CLASSES),
    )


def write_all(folder: Path) -> None:
    write_mnist(folder / "mnist.npz")
    write_cifar(folder / "cifar10.npz")
    write_zip(folder / "corel5k.zip", corel_members())
    write_zip(folder / "flickr8k.zip", flickr_members())
    write_zip(folder / "tmbud.zip", tmbud_members())


# -- where ------------------------------------------------------------------


def test_the_folder_is_the_named_one_else_the_cache(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "sets"))
    assert data_folder() == tmp_path / "sets"
    assert data_folder(tmp_path) == tmp_path
    monkeypatch.delenv("LIKEWISE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / "likewise"


@other_version
@pytest.mark.parametrize("load", LOADERS)
def test_the_variable_decides_where_loaders_look(monkeypatch, tmp_path, load) -> None:
    write_all(tmp_path)
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    assert len(load()) >= 2


@pytest.mark.parametrize(("load", "file"), list(zip(LOADERS, FILES)))
def test_missing_file_says_which_where_from_and_where_to(tmp_path, load, file) -> None:
    with pytest.raises(MissingData) as caught:
        load(tmp_path)
    sentence = str(caught.value)
    assert file in sentence
    assert str(tmp_path) in sentence
    assert "http" in sentence
    assert "LIKEWISE_DATA" in sentence
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, LikewiseError)


@other_version
@pytest.mark.parametrize(("load", "file"), list(zip(LOADERS, FILES)))
@pytest.mark.parametrize("keep", [0, 30, -60])
def test_truncated_file_is_a_data_problem(tmp_path, load, file, keep) -> None:
    write_all(tmp_path)
    path = tmp_path / file
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataProblem, match=file):
        load(tmp_path)


@pytest.mark.parametrize("load", LOADERS)
def test_another_version_loads_with_a_warning(tmp_path, load) -> None:
    write_all(tmp_path)
    with pytest.warns(OtherVersion, match="another version"):
        load(tmp_path)


def test_a_file_is_known_by_size_and_hash(tmp_path) -> None:
    good = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"  # of b"hello"
    source = Source("Greeting", "greeting.txt", 5, good, "https://example.org")
    with pytest.raises(MissingData):
        is_known(source, tmp_path)
    for content, known in ((b"hello", True), (b"hallo", False), (b"hello!", False)):
        (tmp_path / "greeting.txt").write_bytes(content)
        assert is_known(source, tmp_path) is known


# -- what -------------------------------------------------------------------


@other_version
def test_mnist(tmp_path) -> None:
    images = write_mnist(tmp_path / "mnist.npz")
    digits = load_mnist(tmp_path)
    assert np.array_equal(digits.images, images)
    assert digits.labels.tolist() == [3, 1, 4]
    assert digits.is_test.tolist() == [False, False, True]
    assert digits.pictures[1].shape == (28, 28, 3)
    assert np.array_equal(digits.pictures[1][..., 2], images[1])
    assert len(set(digits.names)) == 3


def test_mnist_as_keras_has_it(tmp_path) -> None:
    rng = np.random.default_rng(0)
    train, test = (rng.integers(0, 256, (n, 28, 28), dtype=np.uint8) for n in (4, 2))
    np.savez(
        tmp_path / "mnist.npz", x_train=train, y_train=np.arange(4), x_test=test, y_test=[7, 8]
    )
    digits = load_mnist(tmp_path)
    assert np.array_equal(digits.images, np.concatenate([train, test]))
    assert digits.labels.tolist() == [0, 1, 2, 3, 7, 8]
    assert digits.is_test.sum() == 2


def idx(array: np.ndarray) -> bytes:
    sizes = np.array(array.shape, dtype=">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("below", ["", "mnist"])
def test_mnist_in_its_original_files(tmp_path, packed, below) -> None:
    rng = np.random.default_rng(1)
    place = tmp_path / below
    place.mkdir(exist_ok=True)
    images = {"train": rng.integers(0, 256, (5, 28, 28)), "t10k": rng.integers(0, 256, (2, 28, 28))}
    for part, pixels in images.items():
        for kind, array in (("images-idx3", pixels), ("labels-idx1", np.arange(len(pixels)))):
            path = place / f"{part}-{kind}-ubyte"
            if packed:
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(idx(array)))
            else:
                path.write_bytes(idx(array))
    digits = load_mnist(tmp_path)
    assert np.array_equal(digits.images, np.concatenate([images["train"], images["t10k"]]))
    assert digits.is_test.tolist() == [False] * 5 + [True] * 2
    victim = sorted(place.iterdir())[0]
    victim.write_bytes(victim.read_bytes()[:-9])
    with pytest.raises(DataProblem, match=r"t10k-images"):
        load_mnist(tmp_path)


@other_version
def test_mnist_of_other_contents_is_refused(tmp_path) -> None:
    np.savez(tmp_path / "mnist.npz", pixels=np.zeros(3))
    with pytest.raises(DataProblem, match="not images"):
        load_mnist(tmp_path)
    np.savez(tmp_path / "mnist.npz", images=np.zeros((2, 784)), labels=[0, 1], is_test=[0, 1])
    with pytest.raises(DataProblem, match="height x width"):
        load_mnist(tmp_path)
    images = np.zeros((2, 28, 28), np.uint8)
    np.savez(tmp_path / "mnist.npz", images=images, labels=[0], is_test=[0, 1])
    with pytest.raises(DataProblem, match="2 pictures but 1 labels"):
        load_mnist(tmp_path)
    np.savez(tmp_path / "mnist.npz", images=images, labels=[0, 10], is_test=[0, 1])
    with pytest.raises(DataProblem, match="without a class"):
        load_mnist(tmp_path)


def test_pickled_arrays_are_never_read(tmp_path) -> None:
    np.savez(tmp_path / "mnist.npz", images=np.array([{}], dtype=object))
    with pytest.raises(DataProblem):
        load_mnist(tmp_path)
    assert mnist.SOURCE.file == "mnist.npz"


@other_version
def test_cifar10(tmp_path) -> None:
    write_cifar(tmp_path / "cifar10.npz")
    photos = load_cifar10(tmp_path)
    assert [int(p.mean()) for p in photos.pictures] == pytest.approx([0, 90, 255], abs=2)
    assert [photos.class_names[i] for i in photos.labels] == ["airplane", "truck", "bird"]
    assert photos.is_test.tolist() == [False, False, True]


@other_version
def test_cifar10_with_wrong_offsets_is_refused(tmp_path) -> None:
    arrays = {"jpeg": np.zeros(9, np.uint8), "labels": [0], "is_test": [0]}
    np.savez(tmp_path / "cifar10.npz", offsets=[0, 12], **arrays)
    with pytest.raises(DataProblem, match="offsets"):
        load_cifar10(tmp_path)
    np.savez(tmp_path / "cifar10.npz", offsets=[0, 9], **arrays)
    with pytest.raises(DataProblem, match="Picture 0 is not a whole picture"):
        load_cifar10(tmp_path).pictures[0]


def cifar_batches() -> dict[str, bytes]:
    rng = np.random.default_rng(2)
    return {
        name: rng.integers(0, 10, (2, 3073), dtype=np.uint8).tobytes()
        for name in (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
    }


@pytest.mark.parametrize("packed", [True, False])
def test_cifar10_in_its_original_binary_batches(tmp_path, packed) -> None:
    batches = cifar_batches()
    if packed:
        with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as tar:
            for name in reversed(batches):
                info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                info.size = len(batches[name])
                tar.addfile(info, io.BytesIO(batches[name]))
    else:
        (tmp_path / "cifar-10-batches-bin").mkdir()
        for name, data in batches.items():
            (tmp_path / "cifar-10-batches-bin" / name).write_bytes(data)
    photos = load_cifar10(tmp_path)
    assert len(photos) == 12
    assert photos.is_test.tolist() == [False] * 10 + [True] * 2
    record = np.frombuffer(batches["data_batch_2.bin"], np.uint8)[:3073]
    assert photos.labels[2] == record[0]
    assert photos.pictures[2][5, 7].tolist() == [
        record[1 + c * 1024 + 5 * 32 + 7] for c in range(3)
    ]


def test_cifar10_batches_cut_short_or_lacking(tmp_path) -> None:
    place = tmp_path / "cifar-10-batches-bin"
    place.mkdir()
    for name, data in cifar_batches().items():
        (place / name).write_bytes(data[:-1])
    with pytest.raises(DataProblem, match="cut short"):
        load_cifar10(tmp_path)
    (place / "data_batch_1.bin").unlink()
    with pytest.raises(MissingData):
        load_cifar10(tmp_path)


@other_version
def test_corel5k(tmp_path) -> None:
    write_zip(tmp_path / "corel5k.zip", corel_members())
    photos = load_corel5k(tmp_path)
    assert photos.keywords == (("sun", "sea"), ("tree",))
    assert photos.vocabulary == ("sea", "sun", "tree")
    assert [photos.class_names[i] for i in photos.labels] == ["7", "3"]
    assert photos.is_test.tolist() == [False, True]
    assert photos.pictures[1].shape == (8, 12, 3)
    assert photos.pictures[-1].mean() == pytest.approx(200, abs=2)


def test_unpacked_folder_serves_as_well(tmp_path) -> None:
    for name, data in corel_members().items():
        path = tmp_path / "corel5k" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    photos = load_corel5k(tmp_path)
    assert len(photos.pictures[:]) == 2
    (tmp_path / "corel5k" / "images" / "1.jpg").unlink()
    with pytest.raises(DataProblem, match=r"lacks images/1\.jpg"):
        photos.pictures[0]


@other_version
def test_pictures_of_an_archive_go_to_other_processes(tmp_path) -> None:
    write_zip(tmp_path / "corel5k.zip", corel_members())
    photos = load_corel5k(tmp_path)
    first = photos.pictures[0]
    assert np.array_equal(pickle.loads(pickle.dumps(photos)).pictures[0], first)


@other_version
def test_flickr8k(tmp_path) -> None:
    write_zip(tmp_path / "flickr8k.zip", flickr_members())
    photos = load_flickr8k(tmp_path)
    assert photos.captions[0][0] == "A dog , running ."
    assert photos.split.tolist() == ["train", ""]
    assert photos.expert.picture.tolist() == [0, 1]
    assert photos.expert.caption.tolist() == [7, 7]
    assert photos.grades(photos.expert) == pytest.approx([4 / 3, 11 / 3])
    assert photos.grades(photos.crowd) == pytest.approx([1 / 3, 1.0])
    expert, crowd = photos.judgements(photos.expert), photos.judgements(photos.crowd)
    assert [(j.query.value, j.items, j.value > 0) for j in expert] == [
        ("b3", ("images/a.jpg",), False),
        ("b3", ("images/b.jpg",), True),
    ]
    assert [j.value for j in crowd] == pytest.approx([1 / 3 - 0.5, 0.5])


@other_version
@pytest.mark.parametrize("line", ["a.jpg\tb.jpg#2\t1\t1", "a.jpg\tnone.jpg#2\t1\t1\t1", "nonsense"])
def test_flickr8k_with_a_broken_line_names_it(tmp_path, line) -> None:
    write_zip(
        tmp_path / "flickr8k.zip", {**flickr_members(), "text/ExpertAnnotations.txt": line + "\n"}
    )
    with pytest.raises(DataProblem, match=r"ExpertAnnotations\.txt"):
        load_flickr8k(tmp_path)


@other_version
def test_tmbud_judges_by_building_and_falls_back_to_its_id(tmp_path) -> None:
    write_zip(tmp_path / "tmbud.zip", tmbud_members())
    photos = load_tmbud(tmp_path)
    named = [photos.class_names[i] for i in photos.labels]
    assert named == ["Castle", "Castle", "Opera", "Opera", "building 5"]
    assert photos.building_id.tolist() == [0, 9, 4, 4, 5]
    assert photos.is_night.tolist() == [True, False, False, False, False]
    assert photos.is_good.tolist() == [True, False, True, False, False]
    assert photos.split["3_2"].tolist() == ["None", "TRAIN", "TEST", "", ""]


@other_version
def test_an_archive_without_its_table_or_columns(tmp_path) -> None:
    members = corel_members()
    write_zip(tmp_path / "corel5k.zip", {"images/1.jpg": members["images/1.jpg"]})
    with pytest.raises(DataProblem, match=r"lacks labels\.csv"):
        load_corel5k(tmp_path)
    for table, words in (
        ("file,split\nimages/1.jpg,train\n", "lacks the column category"),
        ("file,split,category,keywords\nimages/1.jpg,train\n", "Row 2 .* cut short"),
        ("file,split,category,keywords\n", "names no pictures"),
    ):
        write_zip(tmp_path / "corel5k.zip", {**members, "labels.csv": table})
        with pytest.raises(DataProblem, match=words):
            load_corel5k(tmp_path)
    write_zip(tmp_path / "corel5k.zip", {**members, "labels.csv": b"\xff\xfe\x00"})
    with pytest.raises(DataProblem, match="damaged"):
        load_corel5k(tmp_path)


# -- sequences of pictures ---------------------------------------------------


def test_pictures_are_a_sequence() -> None:
    array = np.arange(3 * 4 * 5 * 3, dtype=np.uint8).reshape(3, 4, 5, 3)
    pictures = ArrayPictures(array)
    assert len(pictures) == 3
    assert np.array_equal(pictures[-1], array[2])
    assert len(pictures[1:]) == 2
    assert len(list(pictures)) == 3
    with pytest.raises(IndexError):
        pictures[3]
    with pytest.raises(IndexError):
        pictures[-4]


def test_a_picture_is_the_callers_own() -> None:
    array = np.zeros((2, 4, 4, 3), dtype=np.uint8)
    ArrayPictures(array)[0][:] = 9
    assert not array.any()


def test_no_encoded_pictures_is_an_empty_sequence() -> None:
    assert len(EncodedPictures(np.zeros(0, np.uint8), np.zeros(1, np.int64))) == 0
