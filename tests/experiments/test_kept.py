"""What takes long is computed once: read when it is there and whole, made anew when not."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import kept
from experiments.report import Report
from likewise.datasets import swatches
from likewise.features import feature_set


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    return tmp_path


class Maker:
    def __init__(self, rows: int = 4) -> None:
        self.rows, self.calls = rows, 0

    def __call__(self):
        self.calls += 1
        return np.full((self.rows, 2), self.calls)


@pytest.mark.parametrize("mapped", [False, True])
def test_the_second_time_it_is_read(mapped):
    make = Maker()
    for _ in range(2):
        found = kept.keep("some", make, rows=4, mapped=mapped)
        assert isinstance(found, np.memmap) == mapped
        assert found.tolist() == [[1, 1]] * 4
    assert make.calls == 1


def test_damaged_other_and_unwanted_files_are_made_anew(folder):
    make = Maker()
    kept.keep("some", make)
    kept.keep("some", make, rows=5)
    assert make.calls == 2
    kept.keep("some", make, fresh=True)
    assert make.calls == 3
    file = folder / "some.npy"
    file.write_bytes(file.read_bytes()[:-8])
    assert kept.keep("some", make)[0, 0] == 4
    assert [f.name for f in folder.iterdir()] == ["some.npy"]


def test_a_run_that_stops_while_making_leaves_nothing(folder):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept.keep("some", stop)
    assert not list(folder.iterdir())


def test_only_missing_blocks_are_extracted(folder, capsys):
    pictures = swatches(6, size=48, seed=2).render_all(jobs=1)
    report = Report("x")
    first = kept.keep_features("six", pictures, ["colour"], report)
    both = kept.keep_features("six", pictures, ["colour", "texture"], report)
    said = capsys.readouterr().out
    assert "extracting colour of 6 pictures (six)" in said
    assert "extracting texture of 6 pictures (six)" in said
    assert len(list(folder.iterdir())) == 2
    plain = feature_set(["colour", "texture"])(pictures)
    for block in plain:
        np.testing.assert_allclose(both[block], plain[block], rtol=1e-6)
    np.testing.assert_array_equal(first["colour"], both["colour"])
    kept.keep_features("six", pictures, ["texture", "colour"], report)
    assert "extracting" not in capsys.readouterr().out
